import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export type Running = {
  readonly http: string;
  readonly httpsPort: number;
  readonly firstKey: string | null;
  readonly hostname: string;
  /** PEM of the local CA's root certificate. */
  readonly rootCertificate: () => Promise<string | null>;
  /** Deleted when the demo ends. */
  readonly dataDir: string;
};

/** Prints the dashboard's URL and key, and a command that visits the live domain. */
export async function keepRunning(
  { http, httpsPort, firstKey, hostname, rootCertificate, dataDir }: Running,
  print: (line: string) => void,
  stopped: Promise<void>,
): Promise<void> {
  const root = join(dataDir, 'root.pem');
  await writeFile(root, (await rootCertificate()) ?? '');
  const site = `${hostname}:${httpsPort}`;
  for (const line of [
    '',
    'Everything keeps running. Press Ctrl-C to stop it.',
    '',
    `Dashboard:  http://localhost:${new URL(http).port}/`,
    `Key:        ${firstKey}`,
    '',
    'Visit the live domain:',
    `  curl --cacert ${root} --resolve ${site}:127.0.0.1 https://${site}/`,
  ]) {
    print(line);
  }
  await stopped;
}
