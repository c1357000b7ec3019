/** The checks right before an order on a real service: the challenge probe and the rate limits. */
import { pino } from 'pino';
import { describe, expect, it, type TestContext } from 'vitest';
import { PLATFORM_DOMAIN } from '../../src/cli/demo/test-lab.ts';
import { loadConfig } from '../../src/config/config.ts';
import { authorityLimits } from '../../src/core/certificates/budget.ts';
import { startSignpost } from '../../src/start.ts';
import { startAcmeFront } from '../support/acme-front.ts';
import { type Client, createClient } from '../support/client.ts';
import { lacks } from '../support/programs.ts';
import { freePort } from '../support/servers.ts';
import { freshStorage } from '../support/storage.ts';
import { startWorld, until, type WorldOptions } from '../support/world.ts';

/** A whole service with a Pebble behind a front that counts orders. */
async function start(
  { onTestFinished }: Pick<TestContext, 'onTestFinished'>,
  env: Readonly<Record<string, string>> = {},
  options: Partial<WorldOptions> = {},
) {
  const { storage, close } = await freshStorage();
  onTestFinished(close);
  const world = await startWorld({ storage, ca: 'Pebble', ...options });
  onTestFinished(world.close);
  const { ACME_DIRECTORY_URL: directoryUrl = '', ACME_CA_FILE: caFile = '' } = world.env;
  const front = await startAcmeFront({ directoryUrl, caFile });
  onTestFinished(front.close);
  const before = { ACME_DIRECTORY_URL: front.directoryUrl, ACME_CA_FILE: front.caFile };
  const config = loadConfig({ ...world.env, ...before, ESCALATE_AFTER: '3s', ...env });
  if (!config.ok) throw new Error(JSON.stringify(config.problems));
  const signpost = await startSignpost(config.config, pino({ level: 'silent' }));
  onTestFinished(() => signpost.close(10_000));
  /** The number of requested orders; one in twenty has no effect, as Pebble refuses its nonce. */
  const asked = () => front.requests.filter(({ step }) => step === 'newOrder').length;
  const orders = () => front.placed().length;
  return { world, client: createClient(world), front, asked, orders, signpost };
}

type Case = { readonly cause: string; readonly summary: string; readonly evidence: object };

/** The open escalation once `isWanted` accepts it. */
function theCase(client: Client, isWanted: (one: Case) => boolean) {
  return until('the escalation', async () => {
    const cases = (await client.call('GET', '/v1/escalations?status=open')).body as Case[];
    return cases.find(isWanted);
  });
}

const live = (client: Client) =>
  until('live', async () => (await client.domain()).status === 'live');

describe.skipIf(lacks('pebble', 'the checks before an order'))(
  'Before an order',
  { timeout: 240_000, concurrent: true },
  () => {
    it('each address is probed for the challenge: no order is placed while one is dead', async (test) => {
      const { asked, client, orders, world } = await start(test);
      // The edge only listens at the first of them.
      await world.publish(['* A 127.0.0.1', '* A 127.0.0.2'], PLATFORM_DOMAIN);
      const { record } = await client.addDomain();
      await world.publish([`docs CNAME ${record.value}.`]);

      const { summary, evidence } = await theCase(
        client,
        ({ cause }) => cause === 'challenge_unreachable',
      );
      expect(summary).toContain('127.0.0.2 refuses the connection');
      expect(summary).toContain('127.0.0.1 answers correctly');
      expect(evidence).toMatchObject({ problem: null, refusals: 0 });
      expect((await client.domain()).certificate.nextAttemptAt).toEqual(expect.any(String));
      expect(asked()).toBe(0);

      await world.publish(['* A 127.0.0.1'], PLATFORM_DOMAIN);
      await live(client);
      expect(orders()).toBe(1);
      expect(await client.story()).not.toContain('certificate.failed');
    });

    it("the probe can be disabled: then the CA's own problem is reported", async (test) => {
      const challengePort = await freePort();
      const { client, orders, world } = await start(
        test,
        { EDGE_PROBE: 'false' },
        { challengePort },
      );
      const { record } = await client.addDomain();
      await world.publish([`docs CNAME ${record.value}.`]);
      const { evidence } = await theCase(client, ({ cause }) => cause === 'challenge_unreachable');
      expect(evidence).toMatchObject({ problem: { type: 'connection' }, probes: [] });
      expect(orders()).toBeGreaterThan(0);
    });

    it('rate limits are respected: the escalation names the limit and its end, and no order is placed', async (test) => {
      const { asked, client, front, orders, signpost, world } = await start(test, {
        ACME_BUDGET: 'letsencrypt',
      });
      const { prisma } = signpost.service.database;
      const { tokens, windowMs } = authorityLimits.registrable_domain;
      const fullAt = new Date(Date.now() + windowMs);
      const key = `registrable_domain ${front.directoryUrl} ${world.zone}`;
      await prisma.authorityBudget.create({ data: { key, fullAt } });
      const { record } = await client.addDomain();
      await world.publish([`docs CNAME ${record.value}.`]);

      // Before its order was planned, it may have had another one.
      const { summary, evidence } = await theCase(
        client,
        ({ cause }) => cause === 'authority_rate_limited',
      );
      const token = new Date(fullAt.getTime() - ((tokens - 1) * windowMs) / tokens).toISOString();
      expect(summary).toContain(
        `50 certificates in 7 days for ${world.zone} and all names below it`,
      );
      const budget = { limit: 'registrable_domain', subject: world.zone, until: token };
      expect(evidence).toMatchObject({ budget, problem: null });
      expect((await client.domain()).certificate.nextAttemptAt).toBe(token);
      expect(asked()).toBe(0);

      await prisma.authorityBudget.deleteMany(); // a week later
      await client.call('POST', `${client.domainPath}/verify`);
      await live(client);
      expect(orders()).toBe(1);
      const keys = (await prisma.authorityBudget.findMany()).map((row) => row.key.split(' ')[0]);
      expect(keys).toEqual(expect.arrayContaining(['orders', 'registrable_domain', 'same_names']));
    });
  },
);
