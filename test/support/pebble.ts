/** A real ACME server (letsencrypt/pebble) on free ports, from the `pebble` on PATH. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { get } from 'node:https';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { generateCertificateKey, privateKeyToPem } from '../../src/certificates/keys.ts';
import { createLocalAuthority } from '../../src/certificates/local-authority.ts';
import { findProgram, missing } from './programs.ts';

export type PebbleOptions = {
  /** Where Pebble looks for http-01 challenges: the edge's HTTP port. */
  readonly httpPort: number;
  /** `ip:port` of the only name server it asks. */
  readonly dnsServer: string;
  /** Per cent of good nonces that are refused; Pebble's own default is 5. */
  readonly nonceReject?: number;
  /** It waits a random time of less than this many seconds before it validates; not at all unless told. */
  readonly sleepSeconds?: number;
  /** The port of an earlier one that is closed by now: a restart, as its clients see it. */
  readonly port?: number;
};

export type Pebble = {
  readonly directoryUrl: string;
  /** PEM file to trust for the directory. */
  readonly caFile: string;
  /** PEM of the roots that its certificates lead to. */
  readonly rootCertificates: () => Promise<string>;
  readonly close: () => Promise<void>;
};

/**
 * Starts a Pebble of one's own and waits until it answers. Every start has new keys and roots.
 * Throws the sentence of `missing('pebble')` where the program is not installed.
 */
export async function startPebble(options: PebbleOptions): Promise<Pebble> {
  const program = findProgram('pebble');
  if (program === undefined) throw new Error(missing('pebble') ?? 'pebble is missing');
  const directory = await mkdtemp(join(tmpdir(), 'pebble-'));
  const [freePort, managementPort] = await freePorts();
  const port = options.port ?? freePort;
  const root = await writeFiles(directory, port, managementPort, options.httpPort);
  const child = spawn(program, ['-config', 'pebble.json', '-dnsserver', options.dnsServer], {
    cwd: directory,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...(options.sleepSeconds === undefined
        ? { PEBBLE_VA_NOSLEEP: '1' }
        : { PEBBLE_VA_SLEEPTIME: String(options.sleepSeconds) }),
      PEBBLE_AUTHZREUSE: '0',
      PEBBLE_WFE_NONCEREJECT: String(options.nonceReject ?? 5),
    },
  });
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
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Two different ports that were free a moment ago: Pebble cannot choose its own. */
async function freePorts(): Promise<[number, number]> {
  const servers = [createServer(), createServer()] as const;
  const ports = await Promise.all(
    servers.map(async (server) => {
      await once(server.listen(0, '127.0.0.1'), 'listening');
      const address = server.address();
      return typeof address === 'object' && address !== null ? address.port : 0;
    }),
  );
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return [ports[0] ?? 0, ports[1] ?? 0];
}

/** The configuration, and a certificate for `localhost` from a root of its own, which it returns. */
async function writeFiles(
  directory: string,
  port: number,
  managementPort: number,
  httpPort: number,
): Promise<string> {
  const authority = createLocalAuthority({
    loadRoot: async () => null,
    keepRoot: async (root) => root,
    isHeld: async (hostname) => hostname === 'localhost',
    now: () => new Date(),
  });
  const privateKey = generateCertificateKey();
  const order = { hostname: 'localhost', orderUrl: 'local:pebble', privateKey };
  const nothing = async () => {};
  const issued = await authority.advance(order, {
    orderPlaced: nothing,
    publishChallenge: nothing,
  });
  if (issued.kind !== 'issued') throw new Error('no certificate for localhost');
  const root = await authority.rootCertificate();
  const pebble = {
    listenAddress: `127.0.0.1:${port}`,
    managementListenAddress: `127.0.0.1:${managementPort}`,
    certificate: 'cert.pem',
    privateKey: 'key.pem',
    httpPort,
    tlsPort: 1, // tls-alpn-01 is not used
    ocspResponderURL: '',
    externalAccountBindingRequired: false,
  };
  await Promise.all([
    writeFile(join(directory, 'ca.pem'), root),
    writeFile(join(directory, 'cert.pem'), issued.chain),
    writeFile(join(directory, 'key.pem'), privateKeyToPem(privateKey)),
    writeFile(join(directory, 'pebble.json'), JSON.stringify({ pebble })),
  ]);
  return root;
}

/** Pebble says when it listens; from then on its output is read and dropped, so that the pipe never fills. */
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

/** Retried while the port is being opened, which Pebble announces a moment early. */
async function fetchText(url: string, ca: string, triesLeft = 50): Promise<string> {
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

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, 'exit');
  child.kill('SIGTERM');
  await exit;
}
