/** A real ACME server (letsencrypt/pebble) on free ports, from the `pebble` on PATH. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { endWithThisProcess } from './children.ts';
import { localhostCertificate } from './localhost-certificate.ts';
import { findProgram, missing } from './programs.ts';
import { freePort } from './servers.ts';

export type PebbleOptions = {
  /** The edge's HTTP port, for http-01 challenges. */
  readonly httpPort: number;
  /** The port for tls-alpn-01 challenges, if used. */
  readonly tlsPort?: number;
  /** `ip:port` of the only name server that it queries. */
  readonly dnsServer: string;
  /** Percentage of good nonces that it rejects; Pebble's own default is 5. */
  readonly nonceReject?: number;
  /** Percentage of valid authorizations that later orders reuse; 0 by default. */
  readonly authzReuse?: number;
  /** Accounts must be bound to one of these: HMAC keys in base64url by key identifier. */
  readonly externalAccounts?: Readonly<Record<string, string>>;
  /** Maximum random delay before a validation in seconds; 0 by default. */
  readonly sleepSeconds?: number;
  /** The port of an earlier, closed one: clients see a restart. */
  readonly port?: number;
};

export type Pebble = {
  readonly directoryUrl: string;
  /** PEM file to trust for the directory. */
  readonly caFile: string;
  /** PEM of the roots of its certificates. */
  readonly rootCertificates: () => Promise<string>;
  /** Exits on SIGKILL; `close` it nevertheless. */
  readonly signal: (name: 'SIGSTOP' | 'SIGCONT' | 'SIGKILL') => void;
  /** SIGSTOP; resolves when it has stopped. */
  readonly pause: () => Promise<void>;
  readonly close: () => Promise<void>;
};

/**
 * Starts a Pebble and waits until it responds. Every start has new keys and roots. Throws the text of
 * `missing('pebble')` if it is not installed.
 */
export async function startPebble(options: PebbleOptions): Promise<Pebble> {
  const program = findProgram('pebble');
  if (program === undefined) throw new Error(missing('pebble') ?? 'pebble is missing');
  const directory = await mkdtemp(join(tmpdir(), 'pebble-'));
  // Pebble cannot choose its own.
  const [port, managementPort] = [options.port ?? (await freePort()), await freePort()];
  const root = await writeFiles(directory, port, managementPort, options);
  const child = spawn(program, ['-config', 'pebble.json', '-dnsserver', options.dnsServer], {
    cwd: directory,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...(options.sleepSeconds === undefined
        ? { PEBBLE_VA_NOSLEEP: '1' }
        : { PEBBLE_VA_SLEEPTIME: String(options.sleepSeconds) }),
      PEBBLE_AUTHZREUSE: String(options.authzReuse ?? 0),
      PEBBLE_WFE_NONCEREJECT: String(options.nonceReject ?? 5),
    },
  });
  endWithThisProcess(child);
  const close = async () => {
    await stop(child);
    await rm(directory, { recursive: true, force: true });
  };
  try {
    await untilListening(child);
    const directoryUrl = `https://localhost:${port}/dir`;
    await fetchText(directoryUrl, root);
    const rootsUrl = `https://localhost:${managementPort}/roots/0`;
    return {
      directoryUrl,
      caFile: join(directory, 'ca.pem'),
      rootCertificates: () => fetchText(rootsUrl, root),
      signal: (name) => void child.kill(name),
      pause: () => pause(child),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Writes the configuration and a certificate for `localhost`, and returns its root. */
async function writeFiles(
  directory: string,
  port: number,
  managementPort: number,
  { httpPort, tlsPort = 1, externalAccounts }: PebbleOptions,
): Promise<string> {
  const { chain, key, root } = await localhostCertificate();
  const pebble = {
    listenAddress: `127.0.0.1:${port}`,
    managementListenAddress: `127.0.0.1:${managementPort}`,
    certificate: 'cert.pem',
    privateKey: 'key.pem',
    httpPort,
    tlsPort,
    ocspResponderURL: '',
    externalAccountBindingRequired: externalAccounts !== undefined,
    externalAccountMACKeys: externalAccounts ?? {},
  };
  await Promise.all([
    writeFile(join(directory, 'ca.pem'), root),
    writeFile(join(directory, 'cert.pem'), chain),
    writeFile(join(directory, 'key.pem'), key),
    writeFile(join(directory, 'pebble.json'), JSON.stringify({ pebble })),
  ]);
  return root;
}

/** Waits until Pebble listens, then drains its output, so that the pipe never fills. */
async function untilListening(child: ChildProcess): Promise<void> {
  if (child.stdout === null) throw new Error('pebble has no output');
  const lines = createInterface({ input: child.stdout });
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`pebble ended with ${code}`)));
    lines.on('line', (line) => {
      if (line.includes('ACME directory available')) resolve();
    });
  });
}

/** Retries, because Pebble announces the port a moment early. */
async function fetchText(url: string, ca: string, triesLeft = 1_000): Promise<string> {
  try {
    return await new Promise<string>((resolve, reject) => {
      get(url, { ca, agent: false }, (response) => text(response).then(resolve, reject)).on(
        'error',
        reject,
      );
    });
  } catch (error) {
    if (triesLeft === 0) throw error;
    await new Promise((resolve) => setTimeout(resolve, 20));
    return fetchText(url, ca, triesLeft - 1);
  }
}

/** A signal is delivered with a delay; Linux shows the state in proc(5). */
async function pause(child: ChildProcess): Promise<void> {
  child.kill('SIGSTOP');
  const status = `/proc/${child.pid}/stat`;
  while (existsSync(status) && !/\) [Tt] /.test(readFileSync(status, 'utf8'))) {
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGTERM');
  child.kill('SIGCONT'); // a stopped process receives only this
  await exit;
}
