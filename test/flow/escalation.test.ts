/** 30 minutes without a certificate on a real service: one escalation with the right cause. */
import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { describe, expect, it, type TestContext } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { type Signpost, startSignpost } from '../../src/start.ts';
import { type Client, createClient } from '../support/client.ts';
import { forward } from '../support/forward.ts';
import { lacks } from '../support/programs.ts';
import { freePort } from '../support/servers.ts';
import { freshStorage } from '../support/storage.ts';
import { startWorld, until, type World, type WorldOptions } from '../support/world.ts';

/** Each test closes its own resources; they run concurrently, as they mostly wait. */
type Closing = Pick<TestContext, 'onTestFinished'>;

type Service = {
  readonly world: World;
  readonly client: Client;
  readonly signpost: Signpost;
  readonly warnings: readonly Record<string, unknown>[];
};

type Env = Readonly<Record<string, string>>;

async function start(
  { onTestFinished }: Closing,
  options: Omit<WorldOptions, 'storage'>,
  more: (world: World) => Env = () => ({}),
): Promise<Service> {
  const { storage, close } = await freshStorage();
  onTestFinished(close);
  const world = await startWorld({ storage, ...options });
  onTestFinished(world.close);
  const config = loadConfig({ ...world.env, ...more(world) });
  if (!config.ok) throw new Error(JSON.stringify(config.problems));
  const warnings: Record<string, unknown>[] = [];
  const write = (line: string) => void warnings.push(JSON.parse(line));
  const signpost = await startSignpost(config.config, pino({ level: 'warn' }, { write }));
  onTestFinished(() => signpost.close(10_000));
  return { world, client: createClient(world), signpost, warnings };
}

type Shown = {
  readonly hostname: string;
  readonly cause: string;
  readonly summary: string;
  readonly nextAction: string | null;
  readonly evidence: Readonly<Record<string, unknown>>;
  readonly openedAt: string;
  readonly closedAt: string | null;
};

async function cases({ client }: Pick<Service, 'client'>): Promise<readonly Shown[]> {
  return (await client.call('GET', '/v1/escalations')).body as Shown[];
}

/** The check right before the order was right. */
const ordering = ({ client }: Service) =>
  until('an order', async () => (await client.domain()).certificate.status === 'ordering');

/** The check half an hour after the verification or the previous check. */
async function halfAnHourLater({ signpost }: Service): Promise<void> {
  const { bringNow, database } = signpost.service;
  const [domain] = await database.prisma.domain.findMany({ where: { status: 'verified' } });
  if (domain) await bringNow('escalate-certificate', { domainId: domain.id, epoch: domain.epoch });
}

/** The setback of the first attempt, if the escalation needs it. */
const setback = ({ signpost }: Service) =>
  until('a setback', async () => {
    const [order] = await signpost.service.database.prisma.certificate.findMany();
    return order?.setback;
  });

/** The one open escalation, after comparing the customer's text, the timeline and the log. */
async function theCase(service: Service): Promise<Shown> {
  const { client, warnings } = service;
  await until('verified', async () => (await client.domain()).status === 'verified');
  await halfAnHourLater(service);
  const escalation = await until('an escalation', async () => (await client.domain()).escalation);
  const [shown, ...others] = await cases(service);
  if (shown === undefined) throw new Error('no escalation for the operator');
  expect(others).toEqual([]);
  const { hostname, cause, summary, openedAt } = shown;
  // Settings are only named to the operator.
  const [setting, instead] = [
    'set EDGE_PROBE=false',
    'the platform’s operator has to change its settings',
  ];
  const nextAction = shown.nextAction?.replace(setting, instead);
  // And error codes.
  const forCustomer = summary.replace(/: ca_[a-z_]+.*\.$/, '.');
  const words = { cause, summary: forCustomer, nextAction };
  expect(escalation).toEqual({ openedAt, ...words });
  const timeline = (await client.call('GET', `${client.domainPath}/timeline`)).body;
  expect(timeline).toContainEqual(
    expect.objectContaining({ type: 'escalation.opened', data: words }),
  );
  const opened = warnings.filter(({ msg }) => msg === 'escalation opened');
  expect(opened).toMatchObject([{ domain: hostname, cause, summary }]);
  return shown;
}

/** Closed by the certificate; one event, one escalation. */
async function closedByCertificate(service: Service, cause: string): Promise<readonly string[]> {
  const { client } = service;
  await halfAnHourLater(service);
  const live = await until('live', async () => {
    const domain = await client.domain();
    return domain.status === 'live' && domain;
  });
  expect(live.escalation).toBeNull();
  expect(await cases(service)).toMatchObject([
    { cause, nextAction: null, closedAt: expect.any(String) },
  ]);
  const story = await client.story();
  expect(story.filter((event) => event.startsWith('escalation.'))).toEqual([
    'escalation.opened',
    'escalation.closed',
  ]);
  return story;
}

const withoutPebble = lacks('pebble', 'escalations with a CA that uses challenges');

describe.skipIf(withoutPebble)('with a CA that uses challenges', { concurrent: true }, () => {
  it('an unreachable challenge is reported per address; once it is reachable, the order is placed', async (test) => {
    const challengePort = await freePort();
    const service = await start(test, { ca: 'Pebble', challengePort }, () => ({
      ACME_HTTP_PORT: String(challengePort),
    }));
    const { client, world } = service;
    const { record } = await client.addDomain();
    await world.publish([`docs CNAME ${record.value}.`]);

    const { cause, summary, evidence } = await theCase(service);
    expect(cause).toBe('challenge_unreachable');
    expect(summary).toContain('On port 80, 127.0.0.1 refuses the connection.');
    expect(evidence['probes']).toMatchObject([{ address: '127.0.0.1', outcome: 'refused' }]);
    // It would have been refused, so no order was placed.
    expect(evidence['problem']).toBeNull();
    expect(await service.signpost.service.database.prisma.certificate.count()).toBe(0);

    test.onTestFinished(await forward(challengePort, world.edgeHttpPort));
    const story = await closedByCertificate(service, cause);
    expect(story).not.toContain('domain.reverify_requested');
  }, 240_000);

  /** Pebble behind a port that is closed until `open`. */
  async function startBeforeTheAuthority(test: Closing) {
    const port = await freePort();
    let directory = '';
    const service = await start(test, { ca: 'Pebble' }, ({ env, edgeHttpPort }) => {
      directory = env['ACME_DIRECTORY_URL'] ?? '';
      return {
        ACME_DIRECTORY_URL: `https://localhost:${port}/dir`,
        ACME_HTTP_PORT: String(edgeHttpPort),
      };
    });
    const open = async () => {
      test.onTestFinished(await forward(port, Number(new URL(directory).port)));
    };
    return { service, open };
  }

  it('an unresponsive CA is reported, and the open order resumes when it responds', async (test) => {
    const { service, open } = await startBeforeTheAuthority(test);
    const { record } = await service.client.addDomain();
    await service.world.publish([`docs CNAME ${record.value}.`]);

    await setback(service);
    const { cause, nextAction, evidence } = await theCase(service);
    expect(cause).toBe('authority_unreachable');
    expect(nextAction).toMatch(/^The open order resumes at /);
    expect(evidence).toMatchObject({
      setback: { at: expect.any(String), detail: expect.any(String) },
      probes: [{ address: '127.0.0.1', outcome: 'reachable' }],
    });
    await open();
    await closedByCertificate(service, cause);
  }, 240_000);

  const changes: readonly (readonly [string, string, readonly string[]])[] = [
    ['dns_changed', 'the record is removed', []],
    [
      'caa_blocks',
      'a CAA record is added',
      ['docs CNAME {target}.', '@ CAA 0 issue "other.example"'],
    ],
  ];
  it.for(changes)(
    '%s: %s after verification, and the escalation survives the way back to pending',
    { timeout: 240_000 },
    async ([cause, , records], test) => {
      const { service, open } = await startBeforeTheAuthority(test);
      const { client, world } = service;
      const { record } = await client.addDomain();
      const publish = (lines: readonly string[]) =>
        world.publish(lines.map((line) => line.replace('{target}', record.value)));
      await publish(['docs CNAME {target}.']);
      await ordering(service);
      await publish(records);

      const shown = await theCase(service);
      expect(shown.cause).toBe(cause);
      const [finding] = (await client.domain()).findings;
      expect(shown.summary).toContain(finding?.summary);
      expect(shown.evidence['findings']).toEqual((await client.domain()).findings);
      expect((await client.domain()).status).toBe('pending');

      await open();
      await publish(['docs CNAME {target}.']);
      const story = await closedByCertificate(service, cause);
      expect(story.filter((event) => event === 'domain.unverified')).toHaveLength(1);
      expect(story.at(-1)).toBe('escalation.closed');
    },
  );
});

describe('with the local CA', { concurrent: true }, () => {
  it('a failure without an external cause is reported as a platform fault', async (test) => {
    const service = await start(test, { ca: 'local authority' });
    const { client, world, signpost } = service;
    const { prisma } = signpost.service.database;
    // A root sealed with an unknown key.
    const root = { id: 'root', certificate: '', sealedKey: new Uint8Array(120) };
    await prisma.localAuthority.create({ data: root });
    const stored = await signpost.service.authorityKeys.loadRoot();
    expect(stored).not.toBeNull();
    const { record } = await client.addDomain();
    await world.publish([`docs CNAME ${record.value}.`]);

    const { cause, evidence } = await theCase(service);
    expect(cause).toBe('platform_fault');
    expect(evidence).toMatchObject({ findings: [], problem: null, probes: [], setback: null });
    await prisma.localAuthority.deleteMany();
    await closedByCertificate(service, cause);
  }, 240_000);

  it('a rate limit of the CA is reported with the time of the next order', async (test) => {
    const service = await start(test, { ca: 'local authority' });
    const { client, world, signpost } = service;
    const { prisma } = signpost.service.database;
    const { record } = await client.addDomain();
    const { id: domainId } = await prisma.domain.findFirstOrThrow();
    const now = Date.now();
    const retryAfter = new Date(now + 3_600_000).toISOString();
    const refused = {
      id: randomUUID(),
      domainId,
      hostname: world.hostname,
      status: 'failed',
      sealedKey: new Uint8Array(1),
      problem: { type: 'rate_limited', detail: 'too many certificates', retryAfter },
      // It counts only refusals after the verification, which comes later.
      createdAt: new Date(now),
      endedAt: new Date(now + 60_000),
    } as const;
    await prisma.certificate.create({ data: refused });
    await world.publish([`docs CNAME ${record.value}.`]);

    const { cause, summary, nextAction } = await theCase(service);
    expect(cause).toBe('authority_rate_limited');
    const time = `${retryAfter.slice(0, 10)} ${retryAfter.slice(11, 16)} UTC`;
    expect(summary).toContain(`accepts no new order before ${time}`);
    expect(nextAction).toBe(`The order is placed again at ${time}, when the authority accepts it.`);
    expect(await prisma.certificate.count()).toBe(1);
  }, 240_000);
});
