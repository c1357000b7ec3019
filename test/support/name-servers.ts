/** Private copies of NSD, BIND and Unbound on loopback addresses. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { SocketAddress } from '../../src/config/config.ts';
import type { Message } from '../../src/dns/wire/message.ts';
import { createWire } from '../../src/dns/wire/wire.ts';
import { endWithThisProcess } from './children.ts';
import { findProgram, missing, type ProgramName } from './programs.ts';

/** `text`: a master file (RFC 1035, 5); null: a secondary zone that never arrives (SERVFAIL). */
export type ServedZone = {
  readonly name: string;
  readonly serial: number;
  readonly text: string | null;
};

export type Authority = {
  readonly at: SocketAddress;
  /** Replaces zones; resolves when it serves the new ones. */
  readonly publish: (zones: readonly ServedZone[]) => Promise<void>;
  readonly close: () => Promise<void>;
};

export type Resolver = { readonly at: SocketAddress; readonly close: () => Promise<void> };

export type UnboundOptions = {
  readonly at: SocketAddress;
  /** Zones and their servers: a referral could not name a port. */
  readonly stubs: readonly { readonly zone: string; readonly servers: readonly SocketAddress[] }[];
  /** DNSKEY records of signed zones in presentation form. */
  readonly trustAnchors: readonly string[];
};

/** Unused: the port of RFC 863. */
const NOWHERE: SocketAddress = { address: '127.0.0.1', port: 9 };
/** Enough even for a busy machine. */
const START_MS_MAX = 60_000;
/** Poll interval after the start. */
const ASK_EVERY_MS = 20;
/** Timeout of each poll on a busy machine. */
const ANSWER_MS = 150;

/** Starts an NSD with these zones. Throws if it is not installed or exits. */
export async function startNsd(
  at: SocketAddress,
  zones: readonly ServedZone[],
): Promise<Authority> {
  const config = [
    'server:',
    `  ip-address: ${at.address}@${at.port}`,
    '  server-count: 1',
    '  username: ""',
    '  chroot: ""',
    '  zonesdir: "."',
    '  database: ""',
    '  zonelistfile: "zone.list"',
    '  xfrdfile: ""',
    '  xfrdir: "."',
    '  pidfile: ""',
    '  rrl-ratelimit: 0', // tests query often
    '  log-only-syslog: no',
    'remote-control:',
    '  control-enable: no',
    ...zones.flatMap(({ name, text }) => [
      'zone:',
      `  name: "${name}"`,
      `  zonefile: "${fileOf(name)}"`,
      ...(text === null ? [`  request-xfr: AXFR ${NOWHERE.address}@${NOWHERE.port} NOKEY`] : []),
    ]),
  ];
  return startAuthority('nsd', ['-d', '-c', 'nsd.conf'], { 'nsd.conf': lines(config) }, at, zones);
}

/**
 * Starts a BIND with these zones only. It listens on interface addresses: of loopback, 127.0.0.1 only. Throws if it is
 * not installed or exits.
 */
export async function startNamed(
  at: SocketAddress,
  zones: readonly ServedZone[],
): Promise<Authority> {
  const config = [
    'options {',
    '  directory ".";',
    `  listen-on port ${at.port} { ${at.address}; };`,
    '  listen-on-v6 { none; };',
    '  pid-file none;',
    '  session-keyfile none;',
    '  recursion no;',
    '  dnssec-validation no;',
    '  empty-zones-enable no;',
    '  notify no;',
    '};',
    'controls { };',
    ...zones.map(({ name, text }) =>
      text === null
        ? `zone "${name}" { type secondary; primaries port ${NOWHERE.port} { ${NOWHERE.address}; }; };`
        : `zone "${name}" { type primary; file "${fileOf(name)}"; };`,
    ),
  ];
  const files = { 'named.conf': lines(config) };
  return startAuthority('named', ['-g', '-n', '1', '-c', 'named.conf'], files, at, zones);
}

/** A validating Unbound with extended errors (RFC 8914). Throws if not installed. */
export async function startUnbound(options: UnboundOptions): Promise<Resolver> {
  const { at, stubs, trustAnchors } = options;
  const config = [
    'server:',
    `  interface: ${at.address}@${at.port}`,
    '  directory: "."',
    '  username: ""',
    '  chroot: ""',
    '  pidfile: ""',
    '  use-syslog: no',
    '  do-daemonize: no',
    '  module-config: "validator iterator"',
    '  trust-anchor-file: "anchors"',
    '  ede: yes',
    '  val-log-level: 2', // otherwise Unbound does not store the reason
    '  do-not-query-localhost: no',
    '  access-control: 127.0.0.0/8 allow',
    // Unbound denies names of RFC 6761 by default.
    '  local-zone: "test." nodefault',
    // It would query the servers' real addresses on an unused port.
    '  target-fetch-policy: "0 0 0 0 0"',
    'remote-control:',
    '  control-enable: no',
    ...stubs.flatMap(({ zone, servers }) => [
      'stub-zone:',
      `  name: "${zone}"`,
      '  stub-prime: no',
      ...servers.map(({ address, port }) => `  stub-addr: ${address}@${port}`),
    ]),
  ];
  const files = { 'unbound.conf': lines(config), anchors: lines(trustAnchors) };
  const running = await run('unbound', ['-d', '-c', 'unbound.conf'], files);
  await running.until(() => hasAnswer(at, 'localhost', 'A', ({ answers }) => answers.length > 0));
  return { at, close: running.close };
}

export async function startAuthority(
  program: ProgramName,
  args: readonly string[],
  config: Readonly<Record<string, string>>,
  at: SocketAddress,
  zones: readonly ServedZone[],
): Promise<Authority> {
  const running = await run(program, args, { ...config, ...filesOf(zones) });
  await running.until(() => allAnswer(at, zones));
  return {
    at,
    async publish(changed) {
      await running.write(filesOf(changed));
      running.signal('SIGHUP');
      await running.until(() => allAnswer(at, changed));
    },
    close: running.close,
  };
}

type Running = {
  readonly write: (files: Readonly<Record<string, string>>) => Promise<void>;
  readonly signal: (signal: NodeJS.Signals) => void;
  /** Waits for `ready`; if the program exits first, rejects with its output and cleans up. */
  readonly until: (ready: () => Promise<boolean>) => Promise<void>;
  readonly close: () => Promise<void>;
};

/** Starts a program in a new folder with these files. It always ends with this process. */
export async function run(
  name: ProgramName,
  args: readonly string[],
  files: Readonly<Record<string, string>>,
): Promise<Running> {
  const program = findProgram(name);
  if (program === undefined) throw new Error(missing(name) ?? name);
  const cwd = await mkdtemp(join(tmpdir(), `signpost-${name}-`));
  const write = async (some: Readonly<Record<string, string>>) => {
    await Promise.all(Object.entries(some).map(([file, text]) => writeFile(join(cwd, file), text)));
  };
  await write(files);
  const child = spawn(program, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  const printed = collectOutput(child);
  const exited = once(child, 'exit');
  // NSD is several processes; on SIGTERM the first one ends the others.
  endWithThisProcess(child, 'SIGTERM');
  const close = async () => {
    if (!hasEnded(child)) child.kill('SIGTERM');
    await exited;
    await rm(cwd, { recursive: true, force: true });
  };
  return {
    write,
    signal: (signal) => child.kill(signal),
    async until(ready) {
      const deadline = performance.now() + START_MS_MAX;
      try {
        while (!(await ready())) {
          if (!hasEnded(child) && performance.now() < deadline) continue;
          throw new Error(`${name} does not answer as expected:\n${printed.join('\n')}`);
        }
      } catch (error) {
        await close();
        throw error;
      }
    },
    close,
  };
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

/** Read to the end, or the server would block on a full pipe. */
function collectOutput(child: ChildProcess): readonly string[] {
  const printed: string[] = [];
  for (const output of [child.stdout, child.stderr]) {
    if (output === null) continue;
    createInterface(output).on('line', (line) => {
      if (printed.length < 100) printed.push(line);
    });
  }
  return printed;
}

async function allAnswer(at: SocketAddress, zones: readonly ServedZone[]): Promise<boolean> {
  const loaded = zones.filter(({ text }) => text !== null);
  const answered = await Promise.all(
    loaded.map(({ name, serial }) =>
      hasAnswer(at, name, 'SOA', ({ answers }) =>
        answers.some((record) => record.type === 'SOA' && record.serial === serial),
      ),
    ),
  );
  return answered.every(Boolean);
}

/** Whether the server now gives the expected response; takes a moment if not. */
export async function hasAnswer(
  at: SocketAddress,
  name: string,
  type: 'A' | 'SOA',
  awaited: (message: Message) => boolean,
): Promise<boolean> {
  const wire = createWire({ timeoutMs: ANSWER_MS });
  const answer = await wire.ask({ name, type, recursionDesired: false }, at);
  wire.close();
  if (answer.kind === 'response' && awaited(answer.message)) return true;
  await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS));
  return false;
}

function filesOf(zones: readonly ServedZone[]): Record<string, string> {
  return Object.fromEntries(
    zones.flatMap(({ name, text }) => (text === null ? [] : [[fileOf(name), text]])),
  );
}

export function fileOf(zone: string): string {
  return `${zone === '.' ? 'root' : zone}.zone`;
}

export function lines(list: readonly string[]): string {
  return `${list.join('\n')}\n`;
}
