/** Queries without their Access, planted one by one: a response must show each. */
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Access, accessTo, wholeInstallation } from '../../src/core/access.ts';
import { findAttached } from '../../src/db/domains/domains.ts';
import type { Stores } from '../../src/service/service.ts';
import { everyRoute } from '../support/every-route.ts';
import { leaksTo } from './leaks.ts';
import { storedOf } from './stored.ts';
import { askingFor, cursorsOf, strangersOf } from './strangers.ts';
import { startTwoAccounts, type TwoAccounts } from './two-accounts.ts';

const routes = everyRoute().filter(({ scope }) => scope !== null);
let world: TwoAccounts;
beforeAll(async () => {
  world = await startTwoAccounts();
}, 60_000);
afterAll(() => world?.close());

let planted: (() => void)[] = [];
afterEach(() => {
  for (const takeBack of planted) takeBack();
  planted = [];
});

type Owned = { readonly access: Access };
type Query = (first: Access | Owned, ...more: readonly unknown[]) => unknown;

/** A query such as `domains.find` reads the whole installation from now on. */
function plant(name: string): void {
  const [storeName = '', method = ''] = name.split('.');
  const store = world.service[storeName as keyof Stores] as unknown as Record<string, Query>;
  const query = store[method];
  if (query === undefined) throw new Error(`there is no ${name}`);
  const widened: Query = (first, ...more) =>
    query('access' in first ? { ...first, access: wholeInstallation } : wholeInstallation, ...more);
  Object.assign(store, { [method]: widened });
  planted.push(() => Object.assign(store, { [method]: query }));
}

describe('The test of leaks', () => {
  const found = [
    'accounts.list',
    'accounts.find',
    'apiKeys.list',
    'apiKeys.get',
    'sessions.list',
    'domains.list',
    'domains.findById',
    'projects.list',
    'projects.find',
  ];
  const reads = routes.filter(
    ({ method, operationId }) => method === 'GET' && operationId !== 'diagnoseHostname',
  );
  async function leaks(): Promise<readonly string[]> {
    const { call, one, other } = world;
    const [stranger] = await strangersOf(call, one, other);
    if (stranger === undefined) throw new Error('there is no stranger');
    return leaksTo(world, stranger, reads, one, await cursorsOf(call, reads, one));
  }

  it.each(found)(
    'finds %s without its Access',
    async (name) => {
      expect(await leaks()).toEqual([]);
      plant(name);
      expect(await leaks()).not.toEqual([]);
    },
    60_000,
  );

  it('finds a response that takes one statement more', async () => {
    const { database, projects } = world.service;
    const { find } = projects;
    const findSlowly: typeof find = async (access, id) => {
      const [found, exists] = [await find(access, id), await find(wholeInstallation, id)];
      if (found === null && exists !== null) await database.pool.query('SELECT 1');
      return found;
    };
    Object.assign(projects, { find: findSlowly });
    planted.push(() => Object.assign(projects, { find }));
    expect(await leaks()).toContainEqual(
      expect.stringMatching(/^getProject .*\nruns 3 statements, and 2/),
    );
  }, 60_000);
});

/** In this order: the last ones remove what the others need. */
const behind: readonly (readonly [operationId: string, guards: string, query: string])[] = [
  ['listDeploys', 'projects.find', 'deploys.list'],
  ['getDeploy', 'projects.find', 'deploys.find'],
  ['listDomains', 'projects.find', 'domains.list'],
  ['getDomain', 'projects.find', 'domains.find'],
  ['getDomainTimeline', 'projects.find', 'domains.timeline'],
  ['getDomainSettings', 'projects.find', 'domainSettings.load'],
  ['listWebhooks', 'projects.find', 'webhooks.list'],
  ['getWebhook', 'projects.find', 'webhooks.find'],
  ['listWebhookDeliveries', 'projects.find webhooks.find', 'deliveries.list'],
  ['createDeploy', 'projects.find', 'deploys.add'],
  ['verifyDomain', 'projects.find', 'domains.requestVerify'],
  ['updateDomain', 'projects.find', 'domains.updateMetadata'],
  ['putDomainSettings', 'projects.find', 'domainSettings.replace'],
  ['putDomainHsts', 'projects.find', 'domainSettings.putHsts'],
  ['deleteDomainHsts', 'projects.find', 'domainSettings.deleteHsts'],
  ['updateWebhook', 'projects.find webhooks.find', 'webhooks.update'],
  ['rotateWebhookSecret', 'projects.find webhooks.find', 'webhooks.rotate'],
  ['replayWebhookEvents', 'projects.find webhooks.find', 'deliveries.replay'],
  ['deleteWebhook', 'projects.find webhooks.find', 'webhooks.remove'],
  ['rotateSigningSecret', '', 'projects.rotateSigning'],
  ['updateProject', '', 'projects.update'],
  ['rotateKey', 'apiKeys.get', 'apiKeys.rotate'],
  ['endSession', 'sessions.get apiKeys.get', 'sessions.end'],
  ['revokeKey', 'apiKeys.get', 'apiKeys.revoke'],
  ['removeDomain', 'projects.find', 'domains.remove'],
];

/** Whether the response of the operation has what is the customer's, or it changed something. */
async function reaches(operationId: string): Promise<boolean> {
  const { call, one, other } = world;
  const route = routes.find((each) => each.operationId === operationId);
  if (route === undefined) throw new Error(`there is no ${operationId}`);
  const before = await storedOf(world, one);
  let isShown = false;
  for (const { line, json, headers } of askingFor(route, one)) {
    if (headers['idempotency-key'] !== undefined) continue;
    const { text } = await call(line, { key: other.key, ...(json !== undefined && { json }) });
    isShown ||= text.includes(one.mark) || text.includes(one.projectId);
  }
  if (route.method === 'GET') return isShown;
  return !isDeepStrictEqual(await storedOf(world, one), before);
}

describe('Behind a missing check', () => {
  beforeAll(async () => {
    // A replay sends only what is not waiting.
    const { prisma } = world.service.database;
    await prisma.webhookDelivery.updateMany({ data: { status: 'delivered' } });
  });

  it('streams, lists of names and diagnoses find nothing of another account', async () => {
    const { one, other, service } = world;
    const { accountId, hostname, projectId } = one;
    const { database, deploys, events, projects } = service;
    const range = { projectId, hostname: null, after: 0n, upTo: 99n, limit: 99 };
    const findings = async (access: Access) => [
      (await events.lastNumbers(access, [projectId])).size,
      (await events.page(access, range)).length,
      Number((await events.findDomainId(access, projectId, hostname)) !== null),
      Number((await findAttached(database.prisma, access, hostname)) !== null),
      (await deploys.current(access, [projectId])).size,
      (await projects.attachedDomains(access, projectId, 9)).length,
    ];
    expect(await findings(accessTo(other.accountId))).toEqual([0, 0, 0, 0, 0, 0]);
    expect(await findings(accessTo(accountId, [one.otherProjectId]))).toEqual([0, 0, 0, 0, 0, 0]);
    for (const found of await findings(accessTo(accountId))) expect(found).toBeGreaterThan(0);
  });

  it.each(behind)('%s (%s) is still refused by the Access of %s', async (id, guards, query) => {
    for (const guard of guards.split(' ').filter(Boolean)) plant(guard);
    expect(await reaches(id)).toBe(false);
    plant(query);
    expect(await reaches(id)).toBe(true);
  });

  // Counting what another account has is refused before these.
  it.each(['addDomain', 'createWebhook'])('%s is still refused by its limits', async (id) => {
    plant('projects.find');
    expect(await reaches(id)).toBe(false);
  });

  it('domains.add and webhooks.create still refuse the project of another account', async () => {
    const { one, other, service } = world;
    const { accountId, projectId } = one;
    const domain = { projectId, hostname: 'new.primero.example', target: 'x.edge.signpost.test' };
    const webhook = {
      id: randomUUID(),
      url: 'https://x.example/',
      eventTypes: [],
      sealedSecret: new Uint8Array(1),
      createdAt: new Date(),
    };
    const add = (access: Access) => service.domains.add(access, domain, new Date());
    const create = (access: Access) => service.webhooks.create({ access, projectId }, webhook, 9);
    expect(await add(accessTo(other.accountId))).toBeNull();
    expect(await add(accessTo(accountId))).toMatchObject({ hostname: domain.hostname });
    expect(await create(accessTo(other.accountId))).toBeNull();
    expect(await create(accessTo(accountId))).toMatchObject({ id: webhook.id });
  });

  it('deleteProject (projects.find) is still refused by the Access of projects.remove', async () => {
    const { one, service } = world;
    const where = { projectId: one.projectId };
    await service.database.prisma.domain.updateMany({ where, data: { removedAt: new Date() } });
    plant('projects.find');
    expect(await reaches('deleteProject')).toBe(false);
    plant('projects.remove');
    expect(await reaches('deleteProject')).toBe(true);
  });
});
