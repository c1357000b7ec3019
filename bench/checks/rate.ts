/** Checks per second, beside an empty BullMQ worker and a textbook worker: one process each, in turns. */
import { median, numberFrom } from '../support/figures.ts';
import { ended, run, saidUntil } from '../support/processes.ts';
import { fill, type Servers } from './servers.ts';
import { DOMAINS, type Rate } from './settings.ts';

const contenders = ['no-op', 'textbook', 'signpost'] as const;
type Contender = (typeof contenders)[number];
/** Environment of the contenders: the same as of this run. */
const passed = ['SECONDS', 'WARM_UP'] as const;

export async function rate(servers: Servers): Promise<readonly string[]> {
  const rounds = numberFrom('ROUNDS', 3);
  const measured: Record<Contender, Rate[]> = { 'no-op': [], textbook: [], signpost: [] };
  for (let round = 1; round <= rounds; round += 1) {
    for (const contender of contenders) {
      await fill(servers, DOMAINS, 0);
      const one = await runOne(contender, servers);
      measured[contender].push(one);
      process.stderr.write(`round ${round}: ${contender} ${one.rate}/s, ${one.cpuUs} µs\n`);
    }
  }
  return report(measured);
}

async function runOne(contender: Contender, servers: Servers): Promise<Rate> {
  const given = passed.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  const child = run(`./${contender}.js`, import.meta.url, {
    env: {
      ...Object.fromEntries(given),
      DATABASE_URL: servers.databaseUrl,
      REDIS_URL: servers.redisUrl,
      DNS_PORT: servers.dnsPort,
    },
  });
  const measured: Rate = JSON.parse(await saidUntil(child, /\n/));
  await ended(child);
  if (!(measured.rate > 0)) throw new Error(`${contender} measured nothing`);
  return measured;
}

function report(measured: Readonly<Record<Contender, readonly Rate[]>>): readonly string[] {
  const of = (name: Contender, figure: keyof Rate) =>
    median(measured[name].map((one) => one[figure]));
  const ratio = (other: Contender) => (of('signpost', 'rate') / of(other, 'rate')).toFixed(2);
  return [
    '| contender | median | CPU µs | rounds |',
    '|---|---|---|---|',
    ...contenders.map((name) => {
      const rounds = measured[name].map((one) => one.rate).join(' · ');
      return `| ${name} | ${of(name, 'rate')}/s | ${of(name, 'cpuUs')} | ${rounds} |`;
    }),
    '',
    `signpost / no-op ${ratio('no-op')} (aim 0.4), signpost / textbook ${ratio('textbook')} (aim 4)`,
  ];
}
