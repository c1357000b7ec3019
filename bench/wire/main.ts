/**
 * `npm run bench:wire`: DNS queries per second of CPU time, beside `node:dns` in the same run. Both ask the same name
 * server on loopback for the same names: one process each, in turns. ROUNDS, SECONDS and IN_FLIGHT can be set.
 */
import { once } from 'node:events';
import { machine, median, numberFrom } from '../support/figures.ts';
import { ended, run, saidUntil, stop } from '../support/processes.ts';
import { IN_FLIGHT, type Rates } from './settings.ts';

const ROUNDS = numberFrom('ROUNDS', 5);
const contenders = ['node-dns', 'wire'] as const;
type Contender = (typeof contenders)[number];
/** Environment of the contenders: the same as of this run. */
const passed = Object.fromEntries(
  ['IN_FLIGHT', 'SECONDS', 'WARM_UP'].flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value]];
  }),
);

const nameServer = run('./name-server.js', import.meta.url, { env: {} });
try {
  const env = { DNS_PORT: (await saidUntil(nameServer, /\n/)).trim() };
  const rounds: Record<Contender, Rates>[] = [];
  for (let round = 1; round <= ROUNDS; round += 1) {
    rounds.push({ 'node-dns': await measured('node-dns', env), wire: await measured('wire', env) });
    process.stderr.write(`round ${round}: ${JSON.stringify(rounds.at(-1))}\n`);
  }
  report(rounds);
} finally {
  await stop(nameServer);
}

function report(rounds: readonly Record<Contender, Rates>[]): void {
  const ratios = rounds.map((round) => round.wire.perCpuSecond / round['node-dns'].perCpuSecond);
  const lines = [
    `${machine()}; ${ROUNDS} rounds, medians, ${IN_FLIGHT} in flight`,
    ...contenders.map((name) => {
      const rates = rounds.map((round) => round[name]);
      const cpu = rates.map(({ perCpuSecond }) => perCpuSecond);
      const clock = median(rates.map(({ perSecond }) => perSecond));
      return `${name.padEnd(9)} ${median(cpu)} a CPU second (${cpu.join(', ')}); ${clock} a second`;
    }),
    `wire / node-dns  ${median(ratios).toFixed(2)} (${ratios.map((one) => one.toFixed(2)).join(', ')})`,
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

/** Throws if the name server received fewer queries than the contender counts. */
async function measured(contender: Contender, env: Record<string, string>): Promise<Rates> {
  const before = await questionsAsked();
  const child = run(`./${contender}.js`, import.meta.url, { env: { ...passed, ...env } });
  const rates: Rates = JSON.parse(await saidUntil(child, /\n/));
  await ended(child);
  const asked = (await questionsAsked()) - before;
  if (!(rates.perSecond > 0 && asked > rates.perSecond))
    throw new Error(`${contender} did not ask`);
  return rates;
}

async function questionsAsked(): Promise<number> {
  nameServer.send('questions?');
  const [count] = await once(nameServer, 'message');
  return Number(count);
}
