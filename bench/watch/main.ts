/**
 * `npm run bench:watch`: what it costs one worker to see every change of NAMES pending names within a minute, at an NSD on
 * 950 addresses of loopback beside 50 that are silent; and `node:dns` in the same run, as names that it could ask for once
 * a minute on one core. NAMES (a million), SECONDS (65) and ROUNDS (1) may be set. Linux, with NSD.
 */
import { once } from 'node:events';
import { startNsd } from '../../test/support/name-servers.ts';
import { machine, numberFrom } from '../support/figures.ts';
import { ended, run, saidUntil } from '../support/processes.ts';
import {
  AFTER,
  answering,
  BEFORE,
  CHANGES,
  type Found,
  hostnameOf,
  NAMES,
  ZONE,
} from './settings.ts';

const ROUNDS = numberFrom('ROUNDS', 1);
const port = 20_000 + (process.pid % 20_000);
const [first = '', ...others] = answering;
const server = await startNsd({ address: first, port }, [zone(1, [])], others);
const passed = Object.fromEntries(
  ['NAMES', 'SECONDS'].flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value]];
  }),
);
const changed = Array.from(
  { length: CHANGES },
  (_, i) => i * Math.max(1, Math.floor(NAMES / CHANGES)),
);
try {
  process.stdout.write(`${machine()}\n`);
  for (let round = 1; round <= ROUNDS; round += 1) {
    await server.publish([zone(2 * round, [])]);
    const found = await watched(round);
    const peer = await askedByNode();
    const once = Math.round((60 * found.perSecond) / found.ofACore);
    process.stdout.write(
      `${JSON.stringify(found)}\nnames once a minute on one core: watch ${once}, node:dns ${60 * peer}, ratio ${(once / 60 / peer).toFixed(2)}\n`,
    );
  }
} finally {
  await server.close();
}

async function watched(round: number): Promise<Found> {
  const child = run('./watch.js', import.meta.url, { env: { DNS_PORT: String(port), ...passed } });
  const said = saidUntil(child, /\n/);
  await once(child, 'message');
  await server.publish([zone(2 * round + 1, changed)]);
  child.send('changed');
  const found: Found = JSON.parse(await said);
  await ended(child);
  return found;
}

/** Answers a CPU second. */
async function askedByNode(): Promise<number> {
  const env = { DNS_PORT: String(port), DNS_ADDRESS: first };
  const child = run('./node-dns.js', import.meta.url, { env });
  const rate = Number(await saidUntil(child, /\n/));
  await ended(child);
  return rate;
}

function zone(serial: number, of: readonly number[]) {
  const text = [
    '$TTL 60',
    `@ SOA ns hostmaster ${serial} 3600 600 86400 60`,
    '@ NS ns',
    `ns A ${first}`,
    `* A ${BEFORE}`,
    ...of.map((index) => `${hostnameOf(index)}. A ${AFTER}`),
    '',
  ].join('\n');
  return { name: ZONE, serial, text };
}
