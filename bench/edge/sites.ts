/** The sites of all contenders: the same certificates, as rows and as files, and the same deploy. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Certificates, makeCertificates } from './certificates.ts';
import type { Sites } from './contest.ts';
import { startDeploy } from './nginx.ts';
import type { Servers } from './servers.ts';
import { CERTIFICATES } from './settings.ts';
import { store } from './stored.ts';

export async function openSites(
  servers: Servers,
  count = CERTIFICATES,
): Promise<Sites & { close(): Promise<void> }> {
  const certificates = await makeCertificates(count);
  const files = join(servers.folder, 'certificates');
  const rootFile = join(servers.folder, 'root.pem');
  await mkdir(files);
  await writeFile(rootFile, certificates.root);
  await writeAll(files, certificates);
  const { url, program } = await startDeploy(servers.folder);
  await store(servers.pool, certificates, url);
  const hostnames = certificates.sites.map(({ hostname }) => hostname);
  return { hostnames, files, rootFile, deploy: url, servers, close: program.stop };
}

async function writeAll(files: string, { sites }: Certificates): Promise<void> {
  for (const { hostname, chain, key } of sites) {
    await writeFile(join(files, `${hostname}.crt`), chain);
    await writeFile(join(files, `${hostname}.key`), key);
  }
}
