/** Random histories in real time on Redis, BullMQ and DNS: every domain ends as its DNS says. */
import fc from 'fast-check';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { type Signpost, startSignpost } from '../../src/start.ts';
import { createClient } from '../support/client.ts';
import { closeAfterEach } from '../support/closings.ts';
import { sizeOfRun } from '../support/run.ts';
import { type RunningService, startService } from '../support/service.ts';
import { freshStorage, storages } from '../support/storage.ts';
import { until, type World } from '../support/world.ts';

const HISTORIES = Number(process.env['MODEL_REAL_RUNS'] ?? sizeOfRun({ quick: 6, long: 12 }));
const ROUNDS = 5;
/** Random in the long run; a failing quick run has to be reproducible. */
const seed = Number(
  process.env['MODEL_SEED'] ?? sizeOfRun({ quick: 20_261_124, long: Date.now() % 2 ** 31 }),
);

const closings = closeAfterEach();

type Step = 'verify' | 'remove and add' | 'remove' | 'DNS right' | 'DNS wrong' | 'nothing';
const steps = fc.constantFrom<Step>(
  'verify',
  'remove and add',
  'remove',
  'DNS right',
  'DNS right',
  'DNS wrong',
  'nothing',
);
/** What happens to all of them at the end of a round. */
const calamities = fc.constantFrom('Redis is emptied', 'the workers are replaced', 'nothing');

const stateAfter: Readonly<Record<string, string>> = {
  'domain.added': 'pending',
  'domain.verified': 'verified',
  'domain.live': 'live',
  'domain.drifted': 'drifted',
  'domain.recovered': 'live',
  'domain.unverified': 'pending',
  'certificate.ended': 'verified',
  'domain.failed': 'failed',
  'domain.removed': 'removed',
};
/** The permitted events per state (docs/understand/life-of-a-domain.md). */
const follows: Readonly<Record<string, readonly string[]>> = {
  'domain.added': ['removed'],
  'domain.verified': ['pending', 'failed'],
  'domain.live': ['verified'],
  'domain.drifted': ['live'],
  'domain.recovered': ['drifted'],
  'domain.unverified': ['verified'],
  'certificate.ended': ['live'],
  'domain.failed': ['pending', 'drifted'],
  'domain.removed': ['pending', 'verified', 'live', 'drifted', 'failed'],
};

type OneHistory = {
  readonly label: string;
  readonly client: ReturnType<typeof createClient>;
  readonly path: string;
  readonly domains: string;
  readonly target: string;
  right: boolean;
  attached: boolean;
};

async function beginOne(world: World, index: number): Promise<OneHistory> {
  const label = `shop${index}`;
  const client = createClient({ ...world, hostname: `${label}.${world.zone}` });
  const { record } = await client.addDomain();
  const path = client.domainPath;
  const domains = path.slice(0, path.lastIndexOf('/'));
  return { label, client, path, domains, target: record.value, right: false, attached: true };
}

async function act(world: World, one: OneHistory, step: Step): Promise<void> {
  const { client, path, domains, label, target } = one;
  const hostname = `${label}.${world.zone}`;
  if (step === 'DNS right' || step === 'DNS wrong') one.right = step === 'DNS right';
  if (step === 'verify') await client.call('POST', `${path}/verify`);
  if (step === 'remove' || step === 'remove and add') await client.call('DELETE', path);
  if (step === 'remove') one.attached = false;
  if (step === 'remove and add') {
    const added = await client.call('POST', domains, { hostname });
    expect(added).toMatchObject({ status: 201, body: { record: { value: target } } });
    one.attached = true;
  }
}

function startWorkerProcess(world: World): Promise<Signpost> {
  const result = loadConfig({ ...world.env, ROLE: 'worker' });
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return startSignpost(result.config, pino({ level: 'silent' }));
}

/** The expected end by DNS and by whether it was live before. */
async function ends(one: OneHistory): Promise<boolean> {
  const { status, body } = await one.client.call('GET', one.path);
  if (!one.attached) return status === 404;
  const { status: state } = body as { status: string };
  return one.right ? state === 'live' : state === 'pending' || state === 'drifted';
}

const asks = 'domain.reverify_requested';

/** Every event is permitted in its state, and the last one matches the state. */
async function expectLegal(one: OneHistory): Promise<void> {
  const events = (await one.client.story()).filter((type) => type in stateAfter || type === asks);
  let state = 'removed';
  for (const type of events) {
    // A verified domain keeps its state.
    const legal = type === asks ? ['pending', 'verified', 'failed'] : follows[type];
    expect(legal, `${type} in ${events.join(' ')}`).toContain(state);
    if (type === asks && state === 'failed') state = 'pending';
    state = stateAfter[type] ?? state;
  }
  const { body } = await one.client.call('GET', one.path);
  expect(state).toBe(one.attached ? (body as { status: string }).status : 'removed');
}

const available = storages.find(({ name }) => name === 'postgres_redis')?.available ?? false;

async function start(): Promise<{ service: RunningService; redis: Redis }> {
  const { storage, redis, close } = await freshStorage('postgres_redis');
  closings.push(close);
  const service = await startService({ storage, ca: 'local authority', env: { ROLE: 'api' } });
  closings.push(service.close);
  const operator = new Redis(redis?.url ?? '');
  closings.push(() => operator.quit());
  return { service, redis: operator };
}

describe.skipIf(!available)('on real queues, in any history', () => {
  it('every domain ends where its DNS says, by permitted events', async ({ annotate }) => {
    await annotate(`${HISTORIES} histories, MODEL_SEED=${seed}`);
    const { service, redis } = await start();
    const { world } = service;
    let workers = await startWorkerProcess(world);
    closings.push(() => workers.close(5_000));
    const all = await Promise.all(
      Array.from({ length: HISTORIES }, (_, index) => beginOne(world, index)),
    );
    const plans = fc.sample(
      fc.tuple(fc.array(steps, { minLength: HISTORIES, maxLength: HISTORIES }), calamities),
      {
        seed,
        numRuns: ROUNDS,
      },
    );
    for (const [round, calamity] of plans) {
      await Promise.all(all.map((one, index) => act(world, one, round[index] ?? 'nothing')));
      await world.publish(
        all.filter(({ right }) => right).map(({ label, target }) => `${label} CNAME ${target}.`),
      );
      // Some domains are always in progress.
      await until(
        'some domains progress',
        async () => (await redis.dbsize()) > 0 || calamity === 'nothing',
      );
      if (calamity === 'Redis is emptied') await redis.flushall();
      if (calamity === 'the workers are replaced') {
        await workers.close(0);
        workers = await startWorkerProcess(world);
      }
    }
    for (const one of all) await until(`${one.label} where its DNS says`, () => ends(one), 90_000);
    for (const one of all) await expectLegal(one);
  }, 300_000);
});
