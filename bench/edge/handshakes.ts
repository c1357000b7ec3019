/** Handshakes per second: each name's first one after the start, then random names, then resumed sessions. */
import { median } from '../support/figures.ts';
import { type Contender, contenders, type Started, startContender } from './contenders.ts';
import type { Sites } from './contest.ts';
import type { Handshakes, HandshakesAsked } from './handshakes-load.ts';
import type { Servers } from './servers.ts';
import { CERTIFICATES, ROUNDS, SECONDS } from './settings.ts';
import { openSites } from './sites.ts';
import { shakeHands } from './visitors.ts';

const passes = ['first visit', 'again', 'resumed'] as const;
type Pass = (typeof passes)[number];
type Measured = Handshakes & { readonly own: number; readonly database: number };

export async function handshakes(servers: Servers): Promise<readonly string[]> {
  const sites = await openSites(servers);
  const measured = new Map<string, Measured[]>();
  try {
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const place of contenders.keys()) {
        const name = contenders[(place + round) % contenders.length] ?? 'signpost';
        const one = await measureOne(name, sites);
        for (const pass of passes) {
          const key = `${name}/${pass}`;
          measured.set(key, [...(measured.get(key) ?? []), one[pass]]);
          process.stderr.write(`round ${round + 1}: ${key} ${one[pass].rate}/s\n`);
        }
      }
    }
  } finally {
    await sites.close();
  }
  return report((name, pass) => measured.get(`${name}/${pass}`) ?? []);
}

async function measureOne(name: Contender, sites: Sites): Promise<Record<Pass, Measured>> {
  const started = await startContender(name, sites);
  const asked = { port: started.port, rootFile: sites.rootFile, names: CERTIFICATES };
  try {
    return {
      'first visit': await measure(started, { ...asked, until: 'each' }),
      again: await measure(started, { ...asked, until: { seconds: SECONDS } }),
      resumed: await measure(started, { ...asked, ...comingBack, until: { seconds: SECONDS } }),
    };
  } finally {
    await started.stop();
  }
}

/** Few names, so nearly every visit is a repeated one. */
const comingBack = { names: Math.min(CERTIFICATES, 20), isResuming: true } as const;

async function measure(started: Started, asked: HandshakesAsked): Promise<Measured> {
  const before = started.cpu();
  const shaken = await shakeHands(asked);
  const after = started.cpu();
  if (asked.isResuming && shaken.resumed < 0.9 * shaken.count) throw new Error('not resumed');
  const per = (figure: 'own' | 'database') => (after[figure] - before[figure]) / shaken.count;
  return { ...shaken, own: per('own'), database: per('database') };
}

function report(of: (name: Contender, pass: Pass) => readonly Measured[]): readonly string[] {
  const figure = (name: Contender, pass: Pass, which: keyof Measured) =>
    median(of(name, pass).map((one) => one[which]));
  const cost = (name: Contender, pass: Pass) =>
    median(of(name, pass).map(({ own, database }) => own + database));
  const ratio = (peer: Contender, pass: Pass) =>
    `${(figure('signpost', pass, 'rate') / figure(peer, pass, 'rate')).toFixed(2)} handshakes a second, ${(cost(peer, pass) / cost('signpost', pass)).toFixed(2)} a CPU second`;
  return [
    `| ${CERTIFICATES} names | contender | handshakes/s | p50 ms | p99 ms | CPU µs | of it PostgreSQL | visitors busy | rounds |`,
    '|---|---|---|---|---|---|---|---|---|',
    ...passes.flatMap((pass) =>
      contenders.map((name) => {
        const [p50, p99] = [figure(name, pass, 'p50'), figure(name, pass, 'p99')];
        const rounds = of(name, pass).map(({ rate }) => rate);
        return `| ${pass} | ${name} | ${figure(name, pass, 'rate')} | ${p50.toFixed(1)} | ${p99.toFixed(1)} | ${cost(name, pass).toFixed(0)} | ${figure(name, pass, 'database').toFixed(0)} | ${percent(figure(name, pass, 'busy'))} | ${rounds.join(' · ')} |`;
      }),
    ),
    '',
    ...passes.flatMap((pass) =>
      contenders
        .filter((name) => name !== 'signpost')
        .map((peer) => `${pass}: signpost / ${peer} ${ratio(peer, pass)}`),
    ),
  ];
}

function percent(share: number): string {
  return `${Math.round(100 * share)} %`;
}
