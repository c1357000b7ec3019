/** Compares the live service with its OpenAPI document, using independent tools. */
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { expectDocumented } from '../support/contract.ts';
import { everyRoute } from '../support/every-route.ts';
import { lacks } from '../support/programs.ts';
import { isLongRun } from '../support/run.ts';
import { until } from '../support/world.ts';
import { type Circumstances, casesIn, circumstances, sampleFor } from './cases.ts';
import { type Context, makeContext } from './context.ts';
import {
  answersOf,
  type DocumentedOperation,
  fetchDocument,
  operationsOf,
  wrongAboutGetPet,
} from './document.ts';
import { type Prism, startPrism } from './prism.ts';
import { type Case, send, titleOf } from './requests.ts';
import { respect } from './respect.ts';
import { API_KEY, type Services, startServices } from './services.ts';

/* Checks every response against the schemas of the document, without external tools. */

const routes = everyRoute();

/** Sends the cases one by one. Returns the problems; empty if all is documented. */
async function bySchema(
  origin: string,
  cases: readonly Case[],
  context: Context,
): Promise<readonly string[]> {
  const problems: string[] = [];
  for (const one of cases) {
    const { operation, status, code, asking } = one;
    const answer = await send(`${origin}${operation.base}`, operation, asking(context));
    const isExpected =
      answer.status === status && (code === null || answer.text.includes(`"code":"${code}"`));
    if (!isExpected) problems.push(`${titleOf(one)}: was answered ${answer.status} ${answer.text}`);
    const line = `${operation.method} ${operation.base}${operation.path}`;
    const headers = Object.fromEntries(answer.headers);
    try {
      expectDocumented(routes, line, { ...answer, headers });
    } catch (problem) {
      problems.push(`${titleOf(one)}: ${String(problem)}`);
    }
  }
  return problems;
}

/* Keeps one request of each POST under way, so that the same requests get 409. */

/** Each holds one of the installation's places: half of ten while others have requests (src/http/limits/turns.ts). */
const AT_ONCE = 2;

/** Runs `act` with a few cases at a time and returns all results. */
async function whileBusy(
  services: Services,
  documented: readonly DocumentedOperation[],
  context: Context,
  act: (cases: readonly Case[]) => Promise<readonly string[]>,
): Promise<readonly string[]> {
  const cases = casesIn('busy', documented);
  const problems: string[] = [];
  for (let from = 0; from < cases.length; from += AT_ONCE) {
    const some = cases.slice(from, from + AT_ONCE);
    problems.push(...(await whileTheyWait(services, some, context, () => act(some))));
  }
  return problems;
}

/** Runs `act` while the requests wait for a lock: ten seconds at most (src/db/engine/client.ts). */
async function whileTheyWait<T>(
  { origins, databaseUrl }: Services,
  cases: readonly Case[],
  context: Context,
  act: () => Promise<T>,
): Promise<T> {
  const client = new pg.Client(databaseUrl);
  await client.connect();
  try {
    await client.query('BEGIN; LOCK TABLE idempotent_answer IN ACCESS EXCLUSIVE MODE');
    const underWay = Promise.all(
      cases.map(({ operation, asking }) =>
        send(`${origins.busy}${operation.base}`, operation, asking(context)),
      ),
    );
    try {
      await until('every request waits', async () => (await waiting(client)) === cases.length);
      return await act();
    } finally {
      await client.query('ROLLBACK');
      await underWay;
    }
  } finally {
    await client.end();
  }
}

async function waiting(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ waiting: number }>(
    `SELECT count(*)::int AS waiting FROM pg_locks
     WHERE relation = 'idempotent_answer'::regclass AND NOT granted`,
  );
  return rows[0]?.waiting ?? 0;
}

const TIMEOUT_MS = 300_000; // on a busy machine

/** Documented codes that are tested elsewhere. */
const notAsked = [
  'bad_request', // for input that is not HTTP, which the tools cannot send
  'malformed_json', // respect writes its bodies itself, and Prism parses them
  'too_many_domains', // limits of accounts (test/accounts/limits.test.ts)
  'limit_reached',
  'too_many_at_once',
  'too_many_webhooks', // takes ten (test/http/webhooks.test.ts)
  'too_many_streams', // takes twenty open streams (test/http/events.test.ts)
  'too_many_tests', // takes test messages that last (test/http/send-test.test.ts)
  'too_many_diagnoses', // takes ten running diagnoses (test/http/diagnosis.test.ts)
];

/** Returns a tool's objections to the responses of a service. */
type Verify = (
  origin: string,
  cases: readonly Case[],
  context: Context,
) => Promise<readonly string[]>;

const found = (kind: string) => expect.stringContaining(kind);

describe.skipIf(lacks('postgres', 'the OpenAPI document, by Redocly respect and Prism'))(
  'A live service and its OpenAPI document',
  () => {
    let services: Services;
    let document: string;
    let documented: readonly DocumentedOperation[];
    let shared: Context;

    const ownContext = () => makeContext(services.origins.plain, API_KEY);

    async function problemsIn(where: Circumstances, verify: Verify): Promise<readonly string[]> {
      // Requests with effects need separate data per tool.
      const context = where === 'plain' ? await ownContext() : shared;
      const act = (cases: readonly Case[]) => verify(services.origins[where], cases, context);
      return where === 'busy'
        ? whileBusy(services, documented, context, act)
        : act(casesIn(where, documented));
    }

    const verifiedBySample = (verify: Verify): Verify => {
      return (origin, cases, context) => verify(origin, sampleFor('prism', cases), context);
    };

    beforeAll(async () => {
      services = await startServices();
      document = await fetchDocument(services.origins.plain);
      documented = operationsOf(document);
      shared = await ownContext();
      // Other contexts reuse these Idempotency-Keys with different requests.
      for (const { operation, asking, code } of casesIn('plain', documented)) {
        if (code !== 'idempotency_key_reused') continue;
        await send(`${services.origins.plain}${operation.base}`, operation, asking(shared));
      }
    }, TIMEOUT_MS);

    afterAll(() => services?.close());

    test('exactly the documented responses are tested', () => {
      const asked = circumstances.flatMap((where) => casesIn(where, documented)).map(titleOf);
      const listed = documented.flatMap((operation) => answersOf(operation, notAsked));
      expect([...new Set(asked)].sort()).toEqual(listed.toSorted());
    });

    test.each(circumstances)(
      'every response fits its schema: %s',
      async (where) => expect(await problemsIn(where, bySchema)).toEqual([]),
      TIMEOUT_MS,
    );

    /** The cases for the wrong document. */
    const inQuestion = () =>
      casesIn('plain', documented).filter(
        ({ operation: { operationId }, fits, status }) =>
          operationId === 'getPet' && fits && (status === 200 || status === 404),
      );

    describe('Prism, as a validating proxy', () => {
      let prism: Prism;
      beforeAll(async () => {
        prism = await startPrism(document, wrongAboutGetPet(document));
      }, TIMEOUT_MS);
      afterAll(() => prism?.close());

      test.each(circumstances)(
        'finds every response documented: %s',
        async (where) => {
          expect(await problemsIn(where, verifiedBySample(prism.verify))).toEqual([]);
        },
        TIMEOUT_MS,
      );

      test('detects a wrong document', async () => {
        const { origins } = services;
        expect(await prism.verifyWrongly(origins.plain, inQuestion(), shared)).toEqual([
          found('getPet 404 pet_not_found: response: '),
          found('getPet 200: response.body.id: '),
        ]);
      });
    });

    /** Respect is slow to start, so one run covers all states and the wrong document. */
    async function askRespect() {
      const own = await ownContext();
      const calm = circumstances.filter((where) => where !== 'busy');
      const held = calm.map((where) => ({
        document,
        origin: services.origins[where],
        cases: sampleFor('respect', casesIn(where, documented)),
        context: where === 'plain' ? own : shared,
      }));
      const { plain: origin } = services.origins;
      const wrong = wrongAboutGetPet(document);
      const doubted = { document: wrong, origin, cases: inQuestion(), context: shared };
      const problems = await respect([...held, doubted]);
      return {
        calm: new Map(calm.map((where, at) => [where, problems[at]])),
        wrong: problems.at(-1),
      };
    }
    let asked: ReturnType<typeof askRespect> | undefined;
    function saidByRespect(): ReturnType<typeof askRespect> {
      asked ??= askRespect();
      return asked;
    }

    describe('Redocly respect', () => {
      test.each(circumstances.filter((where) => where !== 'busy'))(
        'finds every response documented: %s',
        async (where) => expect((await saidByRespect()).calm.get(where)).toEqual([]),
        TIMEOUT_MS,
      );

      // It starts once per few waiting requests.
      if (isLongRun) {
        test(
          'finds every response documented: busy',
          async () => {
            const verify: Verify = async (origin, cases, context) =>
              (await respect([{ document, origin, cases, context }])).flat();
            expect(await problemsIn('busy', verify)).toEqual([]);
          },
          TIMEOUT_MS,
        );
      }

      test(
        'detects a wrong document',
        async () => {
          expect((await saidByRespect()).wrong).toEqual([
            found('getPet 404 pet_not_found: status code check'),
            found('getPet 200: schema check'),
          ]);
        },
        TIMEOUT_MS,
      );
    });
  },
);
