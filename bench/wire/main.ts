/**
 * `npm run bench:wire`: DNS questions a second of CPU time, beside `node:dns` in the same run. Both ask the same name
 * server on loopback for the same names; one process a contender, in turns. ROUNDS, SECONDS and IN_FLIGHT may be set.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { cpus } from 'node:os';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { IN_FLIGHT, type Rates } from './settings.ts';

const ROUNDS = Number(process.env['ROUNDS'] ?? 5);
const contenders = ['node-dns', 'wire'] as const;
type Contender = (typeof contenders)[number];

const nameServer = start('name-server', {});
try {
  const env = { DNS_PORT: await firstLine(nameServer) };
  const rounds: Record<Contender, Rates>[] = [];
  for (let round = 1; round <= ROUNDS; round += 1) {
    rounds.push({ 'node-dns': await run('node-dns', env), wire: await run('wire', env) });
    process.stderr.write(`round ${round}: ${JSON.stringify(rounds.at(-1))}\n`);
  }
  report(rounds);
} finally {
  nameServer.kill();
}

function report(rounds: readonly Record<Contender, Rates>[]): void {
  const ratios = rounds.map((round) => round.wire.perCpuSecond / round['node-dns'].perCpuSecond);
  const lines = [
    `${cpus().length} cores, ${cpus()[0]?.model}, Node ${process.version}; ${ROUNDS} rounds, medians, ${IN_FLIGHT} in flight`,
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

/** Throws where a contender has not really asked the name server for what it counts. */
async function run(contender: Contender, env: Record<string, string>): Promise<Rates> {
  const before = await questionsAsked();
  const child = start(contender, env);
  const rates: Rates = JSON.parse(await firstLine(child));
  if (child.exitCode === null) await once(child, 'exit');
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

function start(name: string, env: Record<string, string>): ChildProcess {
  const path = fileURLToPath(new URL(`./${name}.js`, import.meta.url));
  return fork(path, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
}

async function firstLine({ stdout }: ChildProcess): Promise<string> {
  if (stdout === null) return '';
  const [line] = await once(createInterface({ input: stdout }), 'line');
  return String(line);
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
