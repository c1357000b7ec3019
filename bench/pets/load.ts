/**
 * A process that sends the load: autocannon's connections, each with different requests, so that repetitions are
 * as frequent as designed. Prints a Load as JSON. Fails on any answer except 2xx.
 */
import autocannon, { type Client, type Request } from 'autocannon';
import { cursorAfter } from '../../src/http/pipeline/cursor.ts';
import { setting } from '../support/processes.ts';
import { CONNECTIONS, type Load, type Operation, type Page, PETS, statuses } from './settings.ts';

const REQUESTS = 500; // of one connection; they repeat

const operation = setting('OPERATION') as Operation; // main.ts sets one of them
const headers = { authorization: `Bearer ${setting('KEY')}` };

function chance(count: number): number {
  return Math.floor(Math.random() * count);
}

function oneOf<Item>(items: readonly Item[]): Item {
  return items[chance(items.length)] as Item; // the list is never empty
}

/** Usually the default length; half ask for the first page, half for one status. */
function somePage(): Page {
  return {
    limit: oneOf([5, 10, 20, 20, 20, 20, 50, 100]),
    status: oneOf([null, null, null, ...statuses]),
    after: oneOf([null, chance(PETS)]),
  };
}

function target({ limit, status, after }: Page): string {
  const query = new URLSearchParams({ limit: String(limit), ...(status && { status }) });
  // Signpost's cursors are opaque; the others use IDs.
  const ids = setting('CONTENDER') === 'textbook' || setting('CONTENDER') === 'plain';
  if (after !== null) query.set('cursor', ids ? String(after) : cursorAfter(BigInt(after)));
  return `/v1/pets?${query}`;
}

const requestOf: Readonly<Record<Operation, () => Request>> = {
  list: () => ({ path: target(somePage()), headers }),
  'same list': () => ({ path: target({ limit: 20, status: 'available', after: null }), headers }),
  get: () => ({ path: `/v1/pets/${1 + chance(PETS)}`, headers }),
  create: () => ({
    method: 'POST',
    path: '/v1/pets',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({
      name: `Rex “the ${chance(PETS)}th”`,
      categoryId: chance(50),
      status: oneOf(statuses),
    }),
  }),
};

const result = await autocannon({
  url: setting('URL'),
  connections: CONNECTIONS,
  duration: Number(setting('SECONDS')),
  setupClient(client: Client) {
    client.setRequests(Array.from({ length: REQUESTS }, requestOf[operation]));
  },
});
const bad = result.non2xx + result.errors + result.timeouts;
if (bad > 0) throw new Error(`${operation}: ${bad} requests were not answered with 2xx`);
const load: Load = {
  rate: Math.round(result['2xx'] / result.duration),
  p50: result.latency.p50,
  p99: result.latency.p99,
  answered: result['2xx'],
};
process.stdout.write(`${JSON.stringify(load)}\n`);
