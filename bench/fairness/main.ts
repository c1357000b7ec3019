/**
 * `npm run bench:fairness`: how long a small account's first checks wait while ten thousand of another account are due, beside
 * the same at rest in the same run; `npm run bench:fairness -- redis` on one storage only. Private Redis and PostgreSQL
 * (durable: fsync on), real name servers on loopback, API and worker as processes of their own. ROUNDS, SECONDS, DOMAINS
 * and PER_SECOND shorten it; DNS_MS are the distances of name servers.
 */
import { loadavg } from 'node:os';
import { machine, median, percentile } from '../support/figures.ts';
import { type FirstChecks, firstChecks } from './first-checks.ts';
import { type QueueStorage, queueStorages } from './queue.ts';
import { openServers } from './servers.ts';
import { DNS_MS, DOMAINS, ROUNDS } from './settings.ts';

const asked = process.argv.slice(2);
const chosen = queueStorages.filter((name) => asked.length === 0 || asked.includes(name));
if (chosen.length < Math.max(1, asked.length)) {
  throw new Error(`there are ${queueStorages.join(' and ')}`);
}
const header = [
  '| queue, an answer of the DNS | a first check | p50 | p95 | p95 of each round |',
  '|---|---|---|---|---|',
];
process.stdout.write(`${title()}\n\n${header.join('\n')}\n`);
for (const name of chosen) for (const dnsMs of DNS_MS) await measure(name, dnsMs);

/** Some rounds with one kind of queue and one distance of name servers, printed when they are over. */
async function measure(name: QueueStorage, dnsMs: number): Promise<void> {
  const servers = await openServers(dnsMs);
  try {
    const rounds: FirstChecks[] = [];
    for (let round = 1; round <= ROUNDS; round += 1) {
      const one = await firstChecks(servers, name);
      rounds.push(one);
      process.stderr.write(`${name}, ${dnsMs} ms, round ${round}: ${progress(one)}\n`);
    }
    process.stdout.write(`${report(`${name}, ${dnsMs} ms`, rounds).join('\n')}\n`);
  } finally {
    await servers.close();
  }
}

function title(): string {
  return `${machine()}: npm run bench:fairness, ${DOMAINS} domains of another account, ${ROUNDS} rounds`;
}

function progress({ rest, load, drainedMs }: FirstChecks): string {
  const machineLoad = loadavg()[0]?.toFixed(1);
  return `p95 ${p95(rest)} ms at rest, ${p95(load)} ms of ${load.length}; all were checked after ${drainedMs} ms; load ${machineLoad}`;
}

function p95(times: readonly number[]): number {
  return Math.round(percentile(times, 0.95));
}

function report(title: string, rounds: readonly FirstChecks[]): readonly string[] {
  const row = (words: string, of: (round: FirstChecks) => readonly number[]) => {
    const p50 = median(rounds.map((one) => Math.round(percentile(of(one), 0.5))));
    const each = rounds.map((one) => p95(of(one)));
    return `| ${title} | ${words} | ${p50} ms | ${median(each)} ms | ${each.join(' · ')} |`;
  };
  const ratios = rounds.map(({ rest, load }) => p95(load) / p95(rest));
  const each = ratios.map((one) => one.toFixed(2)).join(' · ');
  return [
    row('at rest', ({ rest }) => rest),
    row('while they are due', ({ load }) => load),
    row('in the account that has them', ({ behind }) => behind),
    `| ${title} | while they are due / at rest | | **${median(ratios).toFixed(2)}** | ${each} |`,
  ];
}
