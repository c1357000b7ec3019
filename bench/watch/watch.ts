/** The watch of a worker, alone in a process: its names are here from the start, and what differs is told to the parent. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { digestOf } from '../../src/core/watch/watched-name.ts';
import { createReachability } from '../../src/dns/servers/reachability.ts';
import { createWatch } from '../../src/dns/watch/watch.ts';
import { createWire } from '../../src/dns/wire/wire.ts';
import { setting, sleep } from '../support/processes.ts';
import {
  addresses,
  BEFORE,
  CHANGES,
  type Found,
  hostnameOf,
  MEASURE_MS,
  NAMES,
} from './settings.ts';

const port = Number(setting('DNS_PORT'));
const empty = memory();
const wire = createWire({ socketsPerFamily: 32, timeoutMs: 1_000 });
const reports = new Map<string, number>();
const watch = createWatch({
  ask: (question, address) => wire.ask(question, { address, port }),
  lookupDelegation: async () => null, // each name's, once in half an hour
  onDifference: ({ id }) => {
    if (!reports.has(id)) reports.set(id, performance.now());
  },
  rates: () => ({ operator: 1e6, address: 1e6 }), // agreed with this one
  reachability: createReachability(),
  scale: 1,
  now: Date.now,
  steadyNow: () => performance.now(),
  random: Math.random,
});
const since = Date.now() - 3_600_000;
const a = { kind: 'records', records: [BEFORE], ttlSeconds: 60 } as const;
const digest = digestOf({ rcode: 0, cname: { kind: 'nodata' }, a }) ?? 0;
for (let i = 0; i < NAMES; i++) {
  const servers = [0, 1].map((nth) => ({
    server: `ns${nth}.provider-${i % 50}.test`,
    address: addresses[(i * 7 + nth * 13) % addresses.length] ?? '',
    digest,
  }));
  const hostname = Buffer.from(hostnameOf(i)).toString(); // flat, as it comes from a database
  watch.put({
    id: `${1e9 + i}-aaaa-4aaa-8aaa-aaaaaaaaaaaa`,
    epoch: 1,
    hostname,
    status: 'pending',
    since,
    servers,
  });
}
setInterval(watch.tick, 20);
await sleep(5_000);

const delay = monitorEventLoopDelay({ resolution: 10 });
delay.enable();
const [from, cpu, start] = [{ ...watch.counts }, process.cpuUsage(), performance.now()];
await sleep(MEASURE_MS);
const { user, system } = process.cpuUsage(cpu);
const seconds = (performance.now() - start) / 1_000;
delay.disable();
const asked = watch.counts.asked - from.asked;
const falseDifferences = reports.size;
const bytes = memory() - empty;

process.send?.('change');
await new Promise((resolve) => process.once('message', resolve));
const changedAt = performance.now();
await sleep(MEASURE_MS);
const lags = [...reports.values()].map((at) => at - changedAt).toSorted((x, y) => x - y);
const found: Found = {
  names: NAMES,
  perSecond: Math.round(asked / seconds),
  ofACore: round((user + system) / 1e6 / seconds),
  cpuUsPerQuestion: round((user + system) / asked),
  bytesPerName: Math.round(bytes / NAMES),
  delayP99Ms: round(delay.percentile(99) / 1e6),
  unansweredShare: round(
    (watch.counts.unanswered - from.unanswered) / (watch.counts.asked - from.asked),
  ),
  falseDifferences,
  reported: reports.size / (NAMES / Math.max(1, Math.floor(NAMES / CHANGES))),
  lagP50Ms: Math.round(lags[Math.floor(lags.length / 2)] ?? Number.NaN),
  lagP95Ms: Math.round(lags[Math.floor(lags.length * 0.95)] ?? Number.NaN),
};
process.stdout.write(`${JSON.stringify(found)}\n`);
wire.close();
process.exit(0);

function memory(): number {
  return process.memoryUsage().rss;
}

function round(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}
