import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { accountScopes } from '../../src/core/operations/scopes.ts';
import { errorBody } from '../http/support.ts';
import { everyRoute } from '../support/every-route.ts';
import { leaksTo } from './leaks.ts';
import { storedOf } from './stored.ts';
import { askingFor, type Cursors, cursorsOf, isList, pathOf, strangersOf } from './strangers.ts';
import { API_KEY, type Customer, startTwoAccounts, type TwoAccounts } from './two-accounts.ts';

/** Those of /openapi.json, which documents exactly these routes. */
const routes = everyRoute().filter(({ scope }) => scope !== null);
const lists = routes.filter(isList);
let world: TwoAccounts;
let directions: readonly {
  readonly from: Customer;
  readonly to: Customer;
  readonly cursors: Cursors;
}[];

beforeAll(async () => {
  world = await startTwoAccounts();
  const { call, one, other } = world;
  for (const customer of [one, other]) await usesIdempotencyKeys(customer);
  directions = [
    { from: other, to: one, cursors: await cursorsOf(call, routes, one) },
    { from: one, to: other, cursors: await cursorsOf(call, routes, other) },
  ];
}, 60_000);
afterAll(() => world?.close());

/** Its POST requests, whose responses are stored from then on. */
async function usesIdempotencyKeys(customer: Customer): Promise<void> {
  const { call } = world;
  const posts = routes.filter(({ scope }) => accountScopes.some((one) => one === scope));
  for (const route of posts) {
    for (const { line, json, headers } of askingFor(route, customer)) {
      if (headers['idempotency-key'] === undefined) continue;
      const { status } = await call(line, { key: customer.key, json, headers });
      expect([line, status]).toEqual([line, expect.toSatisfy((code) => code < 500)]);
    }
  }
}

describe('What belongs to an account does not exist for others', () => {
  it('in any operation, with any kind of key, in both directions', async () => {
    for (const { from, to, cursors } of directions) {
      const strangers = await strangersOf(world.call, to, from);
      const before = await storedOf(world, to);
      for (const stranger of strangers) {
        const leaks = await leaksTo(world, stranger, routes, to, cursors);
        expect(leaks, stranger.title).toEqual([]);
      }
      expect(await storedOf(world, to)).toEqual(before);
    }
  }, 240_000);

  it('although the same requests succeed with the key of the account', async () => {
    const { call, one } = world;
    const [{ cursors } = { cursors: new Map() }] = directions;
    const reads = routes.filter(
      ({ method, operationId, scope }) =>
        method === 'GET' &&
        operationId !== 'streamEvents' &&
        accountScopes.some((one) => one === scope),
    );
    expect(reads.length).toBeGreaterThan(15);
    for (const route of reads) {
      for (const { line, headers } of askingFor(route, one, cursors)) {
        const { status } = await call(line, { key: one.key, headers });
        expect([line, status]).toEqual([line, expect.toSatisfy((code) => code < 300)]);
      }
    }
  }, 60_000);

  it('even after a cursor of the account, which starts a page without them', async () => {
    for (const { from, to, cursors } of directions) {
      // Every list had a second page.
      expect([...cursors.keys()].sort()).toEqual(lists.map((one) => one.operationId).sort());
      for (const { operationId, path } of lists) {
        const own = pathOf(path, from);
        const { key } = from;
        const { status, text } = await world.call(`GET ${own}?cursor=${cursors.get(operationId)}`, {
          key,
        });
        expect([own, status]).toEqual([own, 200]);
        for (const foreign of [to.mark, to.accountId, to.projectId, to.keyId]) {
          expect(text).not.toContain(foreign);
        }
      }
    }
  });

  it('gives others no events at a Last-Event-ID of the account', async () => {
    for (const { from, to } of directions) {
      for (const id of ['0', '1', '2', '999']) {
        const text = await firstEvents(from, id);
        expect(text).toContain(id === '999' ? 'stream.reset' : from.mark);
        expect(text).not.toContain(to.mark);
      }
    }
  });

  it('gives others no response for an Idempotency-Key of the account', async () => {
    const { call, one, other } = world;
    const headers = { 'idempotency-key': 'the same key' };
    const json = { name: 'Once', slug: 'once', plan: 'pro' };
    const first = await call('POST /v1/projects', { key: one.key, headers, json });
    expect(first.status).toBe(201);
    const second = await call('POST /v1/projects', { key: other.key, headers, json });
    expect(second).toMatchObject({ status: 201, body: { accountId: other.accountId } });
    const acting = { ...headers, 'signpost-account': one.accountId };
    const third = await call('POST /v1/projects', { key: API_KEY, headers: acting, json });
    expect(third.body).toEqual(errorBody(409, 'slug_taken'));
    const others = { ...headers, 'signpost-account': other.accountId };
    const fourth = await call('POST /v1/projects', { key: API_KEY, headers: others, json });
    expect(fourth.body).toEqual(errorBody(422, 'idempotency_key_reused'));
  });
});

/** The beginning of the customer's stream, with at least one event. */
async function firstEvents({ key, projectId }: Customer, lastEventId: string): Promise<string> {
  const answer = await world.api.handle({
    method: 'GET',
    target: `/v1/projects/${projectId}/events`,
    headers: { authorization: `Bearer ${key}`, 'last-event-id': lastEventId },
    readBody: async () => ({ kind: 'bytes', bytes: new Uint8Array() }),
    remoteAddress: '127.0.0.1',
  });
  const ending = new AbortController();
  let text = '';
  for await (const part of answer.stream?.open(ending.signal) ?? []) {
    text += part;
    if (text.includes('event: ')) break;
  }
  ending.abort();
  return text;
}
