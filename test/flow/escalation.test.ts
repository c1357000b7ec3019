/** 30 minutes without a certificate, on a real service: the right cause, once, in the same words for all. */
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

/** Each test closes what it opened; they run beside each other, because most of them is waiting. */
type Closing = Pick<TestContext, 'onTestFinished'>;

type Service = {
  readonly world: World;
  readonly client: Client;
  readonly signpost: Signpost;
  /** What an operator reads in the log. */
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
  return (await client.call('GET', '/v1/escalations')).body as Shown[]; // docs/run/operators-api.md
}

/** Its DNS has been found right once more, right before the order. */
const ordering = ({ client }: Service) =>
  until('an order', async () => (await client.domain()).certificate.status === 'ordering');

/** The look that comes half an hour after the verification, or after the check before. */
async function halfAnHourLater({ signpost }: Service): Promise<void> {
  const { bringNow, database } = signpost.parts;
  const [domain] = await database.prisma.domain.findMany({ where: { status: 'verified' } });
  if (domain) await bringNow('escalate-certificate', { domainId: domain.id, epoch: domain.epoch });
}

/** What became of the first attempt, where that is needed for the case. */
const setback = ({ signpost }: Service) =>
  until('a setback', async () => {
    const [order] = await signpost.parts.database.prisma.certificate.findMany();
    return order?.setback;
  });

/** The one case, once it is open: told to the customer, in the timeline and in the log with the operator's words. */
async function theCase(service: Service): Promise<Shown> {
  const { client, warnings } = service;
  await until('verified', async () => (await client.domain()).status === 'verified');
  await halfAnHourLater(service);
  const escalation = await until('a case', async () => (await client.domain()).escalation);
  const [shown, ...others] = await cases(service);
  if (shown === undefined) throw new Error('the operator sees no case');
  expect(others).toEqual([]);
  const { hostname, cause, summary, openedAt } = shown;
  // A setting is named to the operator alone.
  const [setting, instead] = [
    'set EDGE_PROBE=false',
    'the platform’s operator has to change its settings',
  ];
  const nextAction = shown.nextAction?.replace(setting, instead);
  expect(escalation).toEqual({ openedAt, cause, summary, nextAction });
  const timeline = (await client.call('GET', `${client.domainPath}/timeline`)).body;
  expect(timeline).toContainEqual(
    expect.objectContaining({ type: 'escalation.opened', data: { cause, summary, nextAction } }),
  );
  const opened = warnings.filter(({ msg }) => msg === 'escalation opened');
  expect(opened).toMatchObject([{ hostname, cause, summary }]);
  return shown;
}

/** It ends with the certificate, was told once, and stays as the one case there was. */
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

const withoutPebble = lacks('pebble', 'escalations with an authority that asks for challenges');

describe.skipIf(withoutPebble)(
  'with an authority that asks for challenges',
  { concurrent: true },
  () => {
    it('a challenge that cannot be reached is told by address; once it can, the order is placed again by itself', async (test) => {
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
      // It would have been refused: nothing was ordered, so it cost nothing.
      expect(evidence['problem']).toBeNull();
      expect(await service.signpost.parts.database.prisma.certificate.count()).toBe(0);

      test.onTestFinished(await forward(challengePort, world.edgeHttpPort));
      const story = await closedByCertificate(service, cause);
      expect(story).not.toContain('domain.reverify_requested');
    }, 240_000);

    /** Pebble behind a port that nobody listens at until `open`. */
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

    it('an authority that does not answer is told, and the open order goes on when it does', async (test) => {
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
      ['dns_changed', 'the record is taken away', []],
      [
        'caa_blocks',
        'a CAA record comes',
        ['docs CNAME {target}.', '@ CAA 0 issue "other.example"'],
      ],
    ];
    it.for(changes)(
      '%s: %s after verification, and the case outlives the way back to pending',
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
  },
);

describe('with the local authority', { concurrent: true }, () => {
  it('what nothing outside explains is our own fault, and is told so', async (test) => {
    const service = await start(test, { ca: 'local authority' });
    const { client, world, signpost } = service;
    const { prisma } = signpost.parts.database;
    // A root that no key opens.
    const root = { id: 'root', certificate: '', sealedKey: new Uint8Array(120) };
    await prisma.localAuthority.create({ data: root });
    const stored = await signpost.parts.keys.loadRoot();
    expect(stored).not.toBeNull();
    const { record } = await client.addDomain();
    await world.publish([`docs CNAME ${record.value}.`]);

    const { cause, evidence } = await theCase(service);
    expect(cause).toBe('platform_fault');
    expect(evidence).toMatchObject({ findings: [], problem: null, probes: [], setback: null });
    await prisma.localAuthority.deleteMany();
    await closedByCertificate(service, cause);
  }, 240_000);

  it('an authority that asked us to wait is told with the time when the order is placed again', async (test) => {
    const service = await start(test, { ca: 'local authority' });
    const { client, world, signpost } = service;
    const { prisma } = signpost.parts.database;
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
      // Refused once it is verified, which it is not yet.
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
