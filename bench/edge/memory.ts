/**
 * Memory for a thousand certificates: the difference between a handshake with each name and as many with one name. Each
 * measurement starts the contender again. Those that read certificates at their start get one for the second.
 */

import { median } from '../support/figures.ts';
import { bytesOfTree } from '../support/processes.ts';
import { type Contender, contenders, type Started, startContender } from './contenders.ts';
import type { Sites } from './contest.ts';
import type { Servers } from './servers.ts';
import { CERTIFICATES, ROUNDS } from './settings.ts';
import { openSites } from './sites.ts';
import { shakeHands } from './visitors.ts';

type Measured = { readonly one: number; readonly all: number };

/** nginx with a `server` for each of 50,000 names reads its configuration for minutes and uses gigabytes. */
const SERVERS_MAX = 10_000;
/** With one name and more handshakes than this, the heap stops growing. */
const HANDSHAKES_MAX = 5_000;

export async function memory(servers: Servers): Promise<readonly string[]> {
  const sites = await openSites(servers);
  const measured = new Map<Contender, Measured[]>();
  const asked = contenders.filter(
    (name) => name !== 'nginx, server each' || CERTIFICATES <= SERVERS_MAX,
  );
  try {
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const name of asked) {
        const one = await measureOne(name, sites);
        measured.set(name, [...(measured.get(name) ?? []), one]);
        process.stderr.write(`round ${round + 1}: ${name} ${mega(one.one)}, ${mega(one.all)}\n`);
      }
    }
  } finally {
    await sites.close();
  }
  return report(asked, (name) => measured.get(name) ?? []);
}

async function measureOne(name: Contender, sites: Sites): Promise<Measured> {
  return {
    one: await bytesAfter(name, { ...sites, hostnames: sites.hostnames.slice(0, 1) }),
    all: await bytesAfter(name, sites),
  };
}

async function bytesAfter(name: Contender, sites: Sites): Promise<number> {
  const started = await startContender(name, sites);
  try {
    await visited(started, sites);
    const behind = started.behindPid === undefined ? 0 : bytesOfTree(started.behindPid);
    return bytesOfTree(started.pid) + behind;
  } finally {
    await started.stop();
  }
}

async function visited(
  { port }: Started,
  { rootFile, hostnames: { length: names } }: Sites,
): Promise<void> {
  const until = names === CERTIFICATES ? 'each' : { count: Math.min(CERTIFICATES, HANDSHAKES_MAX) };
  await shakeHands({ port, rootFile, names, until });
}

function report(
  asked: readonly Contender[],
  of: (name: Contender) => readonly Measured[],
): readonly string[] {
  const perThousand = (name: Contender) =>
    median(of(name).map(({ one, all }) => (1_000 * (all - one)) / CERTIFICATES));
  return [
    `| ${CERTIFICATES} certificates | one name visited | every name visited | for a thousand | rounds |`,
    '|---|---|---|---|---|',
    ...asked.map((name) => {
      const [one, all] = [median(of(name).map((m) => m.one)), median(of(name).map((m) => m.all))];
      const rounds = of(name).map((m) => mega((1_000 * (m.all - m.one)) / CERTIFICATES));
      return `| ${name} | ${mega(one)} | ${mega(all)} | ${mega(perThousand(name))} | ${rounds.join(' · ')} |`;
    }),
  ];
}

function mega(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
