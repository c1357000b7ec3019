/** The worker is killed between any two steps: another one finishes, and no step is doubled. */

import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { type Database, openDatabase } from '../../src/db/engine/client.ts';
import { startBeside } from '../support/beside.ts';
import { createClient } from '../support/client.ts';
import { closeAfterEach } from '../support/closings.ts';
import { startProcess, startQuickWorker, startReplaceableProcess } from '../support/process.ts';
import { lacks } from '../support/programs.ts';
import { isLongRun, sizeOfRun } from '../support/run.ts';
import { freshStorage, type StorageName, storagesOfRun } from '../support/storage.ts';
import { type CaKind, startWorld, until, visitDomain, type World } from '../support/world.ts';

const closings = closeAfterEach();

const target = '{target}';
/** The customer's records, and the finding to wait for before the worker is killed. */
const mistakes: readonly { publishes: readonly string[]; code: string }[] = [
  { publishes: [], code: 'record_missing' },
  { publishes: ['docs A 192.0.2.7'], code: 'conflicting_a' },
  { publishes: ['docs AAAA 2001:db8::7'], code: 'conflicting_aaaa' },
  { publishes: ['docs CNAME old.example.'], code: 'cname_mismatch' },
  { publishes: [`docs CNAME ${target}.`, '@ CAA 0 issue "other.example"'], code: 'caa_blocks' },
];

/** One kill for each distinct moment; which finding is reported makes no difference. */
const shortWay: Way = {
  mistakes: mistakes.slice(0, sizeOfRun({ quick: 1, long: 2 })),
  orderSteps: [],
};
const longWay = mistakes.slice(0, sizeOfRun({ quick: 1, long: mistakes.length }));

type Moment = 'added' | 'told' | 'verified' | 'ordering' | 'live';
type Crash = (moment: Moment) => Promise<void>;

/** A new domain is like one with a finding, and a live one needs no worker. */
const quickMoments: readonly Moment[] = ['told', 'verified', 'ordering'];

function crashBy(replace: () => Promise<void>): Crash {
  return async (moment) => {
    if (isLongRun || quickMoments.includes(moment)) await replace();
  };
}

/** The steps between being added and being live. */
type Way = {
  readonly mistakes: typeof mistakes;
  /** Each resolves when its step of the order is reached. */
  readonly orderSteps: readonly (() => Promise<void>)[];
};

async function liveThroughCrashes(world: World, crash: Crash, { mistakes, orderSteps }: Way) {
  const client = createClient(world);
  const { record } = await client.addDomain();
  const publish = (records: readonly string[]) =>
    world.publish(records.map((line) => line.replace(target, record.value)));
  const recorded = (event: string) =>
    until(event, async () => (await client.story()).includes(event));
  await crash('added');
  for (const { publishes, code } of mistakes) {
    await publish(publishes);
    await recorded(`+${code}`);
    await crash('told');
  }
  await publish([`docs CNAME ${target}.`]);
  await recorded('domain.verified');
  await crash('verified');
  for (const reached of orderSteps) {
    await reached();
    await crash('ordering');
  }
  await recorded('domain.live');
  await crash('live');

  const story = await client.story();
  expect(story.filter((event) => !/^[+-]/.test(event))).toEqual([
    'domain.added',
    'domain.verified',
    'certificate.issued',
    'domain.live',
  ]);
  for (const { code } of mistakes) {
    expect(story.lastIndexOf(`-${code}`)).toBeGreaterThan(story.lastIndexOf(`+${code}`));
  }
}

/** Waits for a step of the order in the database, as no API shows it. */
function orderSteps({ prisma }: Database): (() => Promise<void>)[] {
  return [
    async () => {
      await until('order placed', async () =>
        prisma.certificate.findFirst({ where: { orderUrl: { not: null } } }),
      );
    },
    async () => {
      // The order may already have ended before it was seen.
      await until(
        'challenge published',
        async () =>
          (await prisma.challenge.findFirst()) ??
          prisma.certificate.findFirst({ where: { status: 'issued' } }),
      );
    },
  ];
}

const withoutPebble = lacks('pebble', 'killed workers with certificates from Pebble');

/** Only Pebble's order has steps to be killed in. */
const servers = storagesOfRun('postgres_redis').filter(({ name }) => name !== 'embedded');

describe.each(servers)('on $name, a killed worker', ({ name, available }) => {
  const ca = name === 'postgres' ? 'local authority' : 'Pebble';
  it.skipIf(!available || (ca === 'Pebble' && withoutPebble))(
    `is replaced, and one certificate of ${ca} is ordered once`,
    () => replaceKilledWorkers(name, ca),
    400_000,
  );
});

async function replaceKilledWorkers(name: StorageName, ca: CaKind): Promise<void> {
  const { storage, close } = await freshStorage(name);
  closings.push(close);
  const world = await startWorld({ storage, ca, pebbleSleepSeconds: 2 });
  closings.push(world.close);
  for (const ROLE of ['api', 'edge']) {
    closings.push((await startBeside({ ...world.env, ROLE })).stop);
  }
  const start = isLongRun ? startProcess : startQuickWorker;
  const worker = await startReplaceableProcess({ ...world.env, ROLE: 'worker' }, start);
  closings.push(worker.stop);
  const database = await openDatabase(storage, pino({ level: 'silent' }));
  closings.push(database.close);

  // The local CA's order is too short for a kill.
  const way = { mistakes: longWay, orderSteps: orderSteps(database) };
  await liveThroughCrashes(world, crashBy(worker.replace), ca === 'Pebble' ? way : shortWay);

  expect(await database.prisma.certificate.count()).toBe(1);
  const answer = await visitDomain(
    world,
    await world.rootCertificates(
      async () => (await database.prisma.localAuthority.findFirst())?.certificate ?? null,
    ),
  );
  expect(answer.status).toBe(200);
}
