/** Requests per second on kept connections to one name, sent by wrk. */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { median } from '../support/figures.ts';
import { type Contender, type Started, startContender } from './contenders.ts';
import type { Sites } from './contest.ts';
import { pathOf } from './programs.ts';
import type { Servers } from './servers.ts';
import { hostnameOf, ROUNDS, SECONDS, WARM_UP } from './settings.ts';
import { openSites } from './sites.ts';

/** Only one of nginx's two ways: they differ in handshakes only. */
const contenders = ['signpost', 'nginx, server each', 'caddy'] as const;
type Measured = {
  readonly rate: number;
  readonly p50: number;
  readonly p99: number;
  readonly own: number;
  readonly database: number;
};

const CONNECTIONS = 64;
/** The URL has the name, for SNI and Host; the address is a loopback one. */
const loopback = `
wrk.resolve = function(_, service)
  wrk.addrs = wrk.lookup("127.0.0.1", service)
end
`;

export async function requests(servers: Servers): Promise<readonly string[]> {
  const script = join(servers.folder, 'loopback.lua');
  await writeFile(script, loopback);
  const sites = await openSites(servers);
  const measured = new Map<Contender, Measured[]>();
  try {
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const place of contenders.keys()) {
        const name = contenders[(place + round) % contenders.length] ?? 'signpost';
        const one = await measureOne(name, sites, script);
        measured.set(name, [...(measured.get(name) ?? []), one]);
        process.stderr.write(`round ${round + 1}: ${name} ${one.rate}/s\n`);
      }
    }
  } finally {
    await sites.close();
  }
  return report((name) => measured.get(name) ?? []);
}

async function measureOne(name: Contender, sites: Sites, script: string): Promise<Measured> {
  const started = await startContender(name, sites);
  try {
    await load(started, script, WARM_UP);
    return await load(started, script, SECONDS);
  } finally {
    await started.stop();
  }
}

async function load({ port, cpu }: Started, script: string, seconds: number): Promise<Measured> {
  const before = cpu();
  const url = `https://${hostnameOf(0)}:${port}/`;
  const args = ['-t', '1', '-c', `${CONNECTIONS}`, '-d', `${seconds}s`, '--latency', '-s', script];
  const { stdout } = await promisify(execFile)(pathOf('wrk'), [...args, url]);
  const after = cpu();
  if (/Socket errors|Non-2xx/.test(stdout)) throw new Error(stdout);
  const answered = Number(/(\d+) requests in/.exec(stdout)?.[1]);
  return {
    rate: Math.round(Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1])),
    p50: millisecondsOf(stdout, '50%'),
    p99: millisecondsOf(stdout, '99%'),
    own: (after.own - before.own) / answered,
    database: (after.database - before.database) / answered,
  };
}

/** wrk chooses the unit of a time. */
function millisecondsOf(said: string, share: string): number {
  const [, number, unit] = new RegExp(`^\\s+${share}\\s+([\\d.]+)(us|ms|s)$`, 'm').exec(said) ?? [];
  const units: Readonly<Record<string, number>> = { us: 0.001, ms: 1, s: 1_000 };
  return Number(number) * (units[unit ?? ''] ?? Number.NaN);
}

function report(of: (name: Contender) => readonly Measured[]): readonly string[] {
  const figure = (name: Contender, which: keyof Measured) =>
    median(of(name).map((one) => one[which]));
  const cost = (name: Contender) => median(of(name).map(({ own, database }) => own + database));
  return [
    '| contender | requests/s | p50 ms | p99 ms | CPU µs | of it PostgreSQL | rounds |',
    '|---|---|---|---|---|---|---|',
    ...contenders.map((name) => {
      const rounds = of(name).map(({ rate }) => rate);
      return `| ${name} | ${figure(name, 'rate')} | ${figure(name, 'p50').toFixed(1)} | ${figure(name, 'p99').toFixed(1)} | ${cost(name).toFixed(0)} | ${figure(name, 'database').toFixed(0)} | ${rounds.join(' · ')} |`;
    }),
    '',
    ...(['nginx, server each', 'caddy'] as const).map(
      (peer) =>
        `signpost / ${peer} ${(figure('signpost', 'rate') / figure(peer, 'rate')).toFixed(2)} requests a second, ${(cost(peer) / cost('signpost')).toFixed(2)} a CPU second`,
    ),
  ];
}
