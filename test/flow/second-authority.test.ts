/** The second CA replaces the first when that is down, busy or forbidden; no certificate is doubled. */
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { type Signpost, startSignpost } from '../../src/start.ts';
import { type AcmeFront, startAcmeFront } from '../support/acme-front.ts';
import { type Client, createClient } from '../support/client.ts';
import { closeAfterEach } from '../support/closings.ts';
import { type Pebble, startPebble } from '../support/pebble.ts';
import { lacks } from '../support/programs.ts';
import { freshStorage } from '../support/storage.ts';
import { startWorld, until, visitDomain, type World } from '../support/world.ts';

type Authority = { readonly pebble: Pebble; readonly front: AcmeFront };
type Running = {
  readonly world: World;
  readonly first: Authority;
  readonly second: Authority;
  readonly client: Client;
  readonly signpost: Signpost;
};
const closings = closeAfterEach();

/** A whole service with two Pebbles, each behind a front. */
async function start(): Promise<Running> {
  const { storage, close } = await freshStorage();
  closings.push(close);
  const world = await startWorld({ storage, ca: 'local authority' });
  closings.push(world.close);
  const [first, second] = [await startAuthority(world), await startAuthority(world)];
  const result = loadConfig({
    ...world.env,
    ACME_DIRECTORY_URL: first.front.directoryUrl,
    ACME_CA_FILE: first.front.caFile,
    ACME_ISSUER_DOMAINS: 'first.example',
    ACME_FALLBACK_DIRECTORY_URL: second.front.directoryUrl,
    ACME_FALLBACK_CA_FILE: second.front.caFile,
    ACME_FALLBACK_ISSUER_DOMAINS: 'second.example',
  });
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  const signpost = await startSignpost(result.config, pino({ level: 'silent' }));
  closings.push(() => signpost.close(10_000));
  return { world, first, second, client: createClient(world), signpost };
}

async function startAuthority(world: World): Promise<Authority> {
  const pebble = await startPebbleFor(world);
  const front = await startAcmeFront(pebble);
  closings.push(front.close);
  return { pebble, front };
}

async function startPebbleFor({ edgeHttpPort, env }: World): Promise<Pebble> {
  const dnsServer = env['DNS_SERVERS'] ?? '';
  const pebble = await startPebble({ httpPort: edgeHttpPort, dnsServer });
  closings.push(pebble.close);
  return pebble;
}

/** The requested record and additional ones. */
async function publish({ world, client }: Running, ...more: string[]): Promise<void> {
  const { record } = await client.addDomain();
  await world.publish([`docs CNAME ${record.value}.`, ...more]);
}

const isLive = ({ client }: Running) =>
  until('live', async () => (await client.domain()).status === 'live');

/** Its orders, oldest first: the result and the CA of each. */
async function orders({ signpost, first, second }: Running, hostname = 'docs.shop.test') {
  const rows = await signpost.service.database.prisma.certificate.findMany({
    where: { hostname },
    orderBy: { createdAt: 'asc' },
  });
  const names = { [first.front.directoryUrl]: 'first', [second.front.directoryUrl]: 'second' };
  return rows.map(({ status, authority }) => [status, names[authority ?? '']]);
}

/** Retries come only every 15 seconds at first. */
async function workOnOrder({ signpost }: Running): Promise<void> {
  const { bringNow, database } = signpost.service;
  const [domain] = await database.prisma.domain.findMany({ where: { status: 'verified' } });
  if (domain) await bringNow('issue-certificate', { domainId: domain.id, epoch: domain.epoch });
}

/** A newOrder whose answer is lost leaves an unused order at the CA; only the stored one is finalized. */
const finalized = ({ front }: Authority) =>
  new Set(
    front.requests
      .filter(({ step, status }) => step === 'finalize' && status === 200)
      .map(({ path }) => path),
  ).size;

const newOrders = ({ front }: Authority) =>
  front.requests.filter(({ step }) => step === 'newOrder');

function refuse({ front }: Authority, type: string, headers: Record<string, string> = {}): void {
  const body = JSON.stringify({ type: `urn:ietf:params:acme:error:${type}`, detail: 'no' });
  const status = type === 'rateLimited' ? 429 : 403;
  const said = { 'content-type': 'application/problem+json', ...headers };
  front.meddle({
    before: ({ step }) => (step === 'newOrder' ? { status, headers: said, body } : undefined),
  });
}

describe.skipIf(lacks('pebble', 'two certificate authorities'))(
  'A second CA',
  { timeout: 300_000 },
  () => {
    it('replaces one that is down until that is up again', async () => {
      const running = await start();
      const { world, first, second, client, signpost } = running;
      await first.pebble.close();
      await publish(running);
      await until('an order', async () => (await orders(running)).length > 0);
      await until('live', async () => {
        await workOnOrder(running);
        return (await client.domain()).status === 'live';
      });
      expect(await orders(running)).toEqual([
        ['failed', 'first'],
        ['issued', 'second'],
      ]);
      expect(finalized(second)).toBe(1);
      // A moved order is not a refusal.
      expect(await client.story()).not.toContain('certificate.failed');
      const roots = await second.pebble.rootCertificates();
      expect(await visitDomain(world, roots)).toBeDefined();

      first.front.leadTo(await startPebbleFor(world));
      const { mayAsk } = signpost.service.health;
      await until('another try', async () => mayAsk(first.front.directoryUrl));
      const added = await client.call('POST', client.domainPath.replace(/\/[^/]+$/, ''), {
        hostname: 'blog.shop.test',
      });
      const { record } = added.body as { record: { value: string } };
      const { record: before } = await client.domain();
      await world.publish([`docs CNAME ${before.value}.`, `blog CNAME ${record.value}.`]);
      await until('the other one', async () => {
        const [order] = await orders(running, 'blog.shop.test');
        return order?.[0] === 'issued';
      });
      expect(await orders(running, 'blog.shop.test')).toEqual([['issued', 'first']]);
      expect(finalized(first)).toBe(1);
      expect(finalized(second)).toBe(1);
    });

    it.each([
      ['sends Retry-After of a day', 'rateLimited', { 'retry-after': '86400' }],
      ['rejects the name', 'rejectedIdentifier', {}],
      ['interprets the CAA records differently', 'caa', {}],
    ])('takes over at once from one that %s', async (_what, type, headers) => {
      const running = await start();
      const { first, second } = running;
      refuse(first, type, headers);
      await publish(running);
      await isLive(running);
      expect(await orders(running)).toEqual([
        ['failed', 'first'],
        ['issued', 'second'],
      ]);
      expect(newOrders(first)).toHaveLength(1);
      expect(finalized(second)).toBe(1);
    });

    it('issues when only it is permitted by CAA, without a finding', async () => {
      const running = await start();
      await publish(running, '@ CAA 0 issue "second.example"');
      await isLive(running);
      expect(await orders(running)).toEqual([['issued', 'second']]);
      expect(newOrders(running.first)).toEqual([]);
      expect(await running.client.story()).not.toContain('+caa_blocks');
      expect((await running.client.domain()).findings).toEqual([]);
    });

    it('is named beside the first when CAA forbids both, and one record is sufficient', async () => {
      const running = await start();
      const { world, first, second, client } = running;
      await publish(running, '@ CAA 0 issue "other.example"');
      const blocked = await until('the finding', async () =>
        (await client.domain()).findings.find(({ code }) => code === 'caa_blocks'),
      );
      expect(blocked.expected).toBe('CAA 0 issue "first.example" or 0 issue "second.example"');
      expect(blocked.action).toContain('0 issue "second.example"');
      expect([...newOrders(first), ...newOrders(second)]).toEqual([]);

      const { record } = await client.domain();
      const allowed = ['@ CAA 0 issue "other.example"', '@ CAA 0 issue "second.example"'];
      await world.publish([`docs CNAME ${record.value}.`, ...allowed]);
      await isLive(running);
      expect(await orders(running)).toEqual([['issued', 'second']]);
    });
  },
);
