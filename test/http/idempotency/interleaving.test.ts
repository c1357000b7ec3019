import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ApiResponse } from '../../../src/http/pipeline/errors.ts';
import { refuse } from '../../../src/http/pipeline/errors.ts';
import type { IdempotentRequest } from '../../../src/http/pipeline/idempotency.ts';
import { databasesOfRun } from '../../support/storage.ts';
import { anAttempt, type Fixture, openFixture } from './fixture.ts';

/** A request: the process it goes to, and how its run ends if it runs. */
const request = fc.record({
  process: fc.nat(1),
  ending: fc.constantFrom('answers', 'breaks', 'is busy'),
});
type Request = typeof request extends fc.Arbitrary<infer Value> ? Value : never;

/** Equal requests that create `name`; the scheduler picks whose next step runs. */
type Round = {
  readonly scheduler: fc.Scheduler;
  readonly attempt: IdempotentRequest;
  readonly name: string;
};

describe.each(databasesOfRun())('Concurrent equal requests, on $name', ({ name, available }) => {
  let processes: Fixture[] = [];

  beforeAll(async () => {
    if (!available) return;
    const first = await openFixture(name);
    // Only one process can use embedded storage.
    processes = name === 'embedded' ? [first] : [first, await first.another()];
  });
  afterAll(() => processes[0]?.close());

  const processOf = ({ process }: Request) => processes[process % processes.length] as Fixture;

  it.skipIf(!available)('take effect once and get one response, in any order', async () => {
    let rounds = 0;
    const requests = fc.array(request, { minLength: 2, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), requests, async (scheduler, wanted) => {
        const round = { scheduler, attempt: anAttempt(), name: `round-${++rounds}` };
        const sent = wanted.map((each, index) => send(processOf(each), round, each, `${index}`));
        const outcomes = await scheduler.waitFor(Promise.allSettled(sent));
        await expectOneEffect(processOf({ process: 0, ending: 'answers' }), round, outcomes);
      }),
      { numRuns: 60 },
    );
  });
});

async function send(
  fixture: Fixture,
  { scheduler, attempt, name }: Round,
  { ending }: Request,
  label: string,
): Promise<ApiResponse> {
  const step = (what: string) => scheduler.schedule(Promise.resolve(), `${label} ${what}`);
  await step('arrives');
  return fixture.idempotency(attempt, async () => {
    await step('begins');
    const answer = await bringPet(fixture, name);
    await step('had its effect');
    if (ending === 'breaks') throw new Error('on purpose');
    return ending === 'is busy' ? refuse('unavailable') : answer;
  });
}

async function expectOneEffect(
  fixture: Fixture,
  { attempt, name }: Round,
  outcomes: readonly PromiseSettledResult<ApiResponse>[],
): Promise<void> {
  const faults = outcomes.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
  const answers = outcomes.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  const good = answers.filter(({ status }) => status === 201);
  for (const fault of faults) expect(fault).toEqual(new Error('on purpose'));
  for (const { status } of answers) expect([201, 409, 503]).toContain(status);
  expect(await petsCalled(fixture, name)).toBe(good.length > 0 ? 1 : 0);
  expect(good.filter(isReplay).length).toBe(Math.max(0, good.length - 1));

  const last = await fixture.idempotency(attempt, () => bringPet(fixture, name));
  expect(last.status).toBe(201);
  expect(new Set([...good, last].map(({ text }) => text)).size).toBe(1);
  expect(await petsCalled(fixture, name)).toBe(1);
}

/** An effect that only the Idempotency-Key protects from happening twice. */
async function bringPet({ database }: Fixture, name: string): Promise<ApiResponse> {
  const pet = await database.prisma.pet.create({ data: { name, categoryId: 1n } });
  return { status: 201, body: pet };
}

function petsCalled({ database }: Fixture, name: string): Promise<number> {
  return database.prisma.pet.count({ where: { name } });
}

function isReplay({ headers }: ApiResponse): boolean {
  return headers?.['idempotency-replayed'] === 'true';
}
