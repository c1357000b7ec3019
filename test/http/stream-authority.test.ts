/** A stream of events ends when whoever opened it may no longer read it: the key, its account, and what it reaches. */
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type GrantedProjectId, installation } from '../../src/core/accounts/access.ts';
import { createAccountStore, type GrantedAccount } from '../../src/db/accounts.ts';
import { createApiKeyStore } from '../../src/db/api-keys.ts';
import { createEventFeedStore } from '../../src/db/events.ts';
import { createProjectStore, type GrantedProject } from '../../src/db/projects.ts';
import { createFeed, type Feed } from '../../src/events/feed.ts';
import { createActFor } from '../../src/http/keys/act-for.ts';
import { createAuthenticate } from '../../src/http/keys/auth.ts';
import { eventRoutes } from '../../src/http/routes/events.ts';
import {
  createIsStillAuthorized,
  createOpenStream,
  createSlots,
  defaultStreamLimits,
} from '../../src/http/routes/streams.ts';
import { noLimits } from '../support/access.ts';
import { noon } from '../support/builders.ts';
import { type Reading, readEvents } from '../support/sse.ts';
import { type Accounts, openAccounts } from './account-fixture.ts';

type Owned = { readonly account: GrantedAccount; readonly project: GrantedProject };
/** How a stream is asked for: with a key, and for the account that a key of the installation acts for. */
type Asking = { readonly key: string; readonly keyId?: string; readonly account?: string };

let t: Accounts;
let feed: Feed;
let bakery: Owned;
const open = new Set<AbortController>();

beforeAll(async () => {
  t = await openAccounts((prisma, now) => {
    const store = () => createEventFeedStore(t); // its pool is there once it is started
    const lastNumbers = (ids: readonly GrantedProjectId[]) => store().lastNumbers(ids);
    feed = createFeed({ lastNumbers, log: { info: () => {}, warn: () => {} } });
    const findAccount = (id: string) => createAccountStore(prisma).find(installation, id);
    const findKey = createApiKeyStore(prisma).find;
    return eventRoutes({
      projects: createProjectStore(prisma),
      findDomainId: (...of) => store().findDomainId(...of),
      platformDomain: 'edge.signpost.test',
      openStream: createOpenStream({
        now,
        feed,
        checkFeed: { follow: () => expect.fail('nobody asked for checks') },
        lastNumbers,
        page: (range) => store().page(range),
        heartbeatMs: 20,
        slots: createSlots(defaultStreamLimits),
        watching: { watch: () => () => {} },
        isStillAuthorized: createIsStillAuthorized({
          authenticate: createAuthenticate({ findKey, limits: noLimits, now }),
          actFor: createActFor({ findAccount, limits: noLimits, now }),
        }),
        log: { error: () => {} },
      }),
    });
  });
  bakery = await t.anAccount('Bakery');
});
afterEach(() => {
  for (const one of open) one.abort();
  open.clear();
});
afterAll(async () => {
  feed?.close();
  await t?.close();
});

/** Opens a stream of a project, and expects that it is one. */
async function read(project: GrantedProject, { key, account }: Asking): Promise<Reading> {
  const answer = await t.api.handle({
    method: 'GET',
    target: `/v1/projects/${project.id}/events`,
    headers: { authorization: `Bearer ${key}`, 'signpost-account': account },
    readBody: async () => ({ kind: 'too_large' }),
    remoteAddress: '127.0.0.1',
  });
  if (answer.stream === undefined) throw new Error(`${answer.status} ${answer.body}`);
  const over = new AbortController();
  open.add(over);
  return readEvents(answer.stream.open(over.signal));
}

/** More than is remembered of keys and accounts. */
function somewhatLater(): void {
  t.clock.now = new Date(t.clock.now.getTime() + 6_000);
}

const actingFor = async ({ account }: Owned): Promise<Asking> => ({
  key: t.admin,
  account: account.id,
});
const withKeyOf = async ({ account }: Owned): Promise<Asking> => {
  const { id, token } = await t.aKey(account.id, ['domains:read']);
  return { key: token, keyId: id };
};
const close = async ({ account }: Owned) => {
  await t.prisma.account.update({ where: { id: account.id }, data: { closedAt: noon } });
};
const restrict = async (_: Owned, { keyId = '' }: Asking) => {
  const data = { projectIds: [randomUUID()] };
  await t.prisma.apiKey.update({ where: { id: keyId }, data });
};
const moveAway = async (_: Owned, { keyId = '' }: Asking) => {
  const data = { accountId: bakery.account.id };
  await t.prisma.apiKey.update({ where: { id: keyId }, data });
};

describe('a stream of an account', () => {
  it.each([
    ['an operator acts for it, and it closes', actingFor, close],
    ['a key of it reads, and it closes', withKeyOf, close],
    ['a key of it reads, and is for another project alone from now on', withKeyOf, restrict],
    ['a key of it reads, and is another account’s from now on', withKeyOf, moveAway],
  ] as const)('ends where %s', async (_, ask, change) => {
    const shop = await t.anAccount('Shop');
    const asking = await ask(shop);
    const reading = await read(shop.project, asking);
    const next = reading.next();
    await change(shop, asking);
    somewhatLater();
    expect(await next).toBeNull();
  });

  it('stays open while others close', async () => {
    const [shop, other] = [await t.anAccount('Shop'), await t.anAccount('Other')];
    const asked = [await actingFor(shop), await withKeyOf(shop), { key: t.admin }];
    const readings = await Promise.all(asked.map((asking) => read(shop.project, asking)));
    const over = readings.map((reading) => reading.next());
    await close(other);
    somewhatLater();
    const before = readings.map(({ comments }) => comments.length);
    const stay = () => readings.every(({ comments }, n) => comments.length > (before[n] ?? 0) + 2);
    while (!stay()) await new Promise((resolve) => setImmediate(resolve));
    for (const one of open) one.abort();
    expect(await Promise.all(over)).toEqual([null, null, null]);
  });
});
