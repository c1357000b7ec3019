/** The live service and its OpenAPI document, compared by tools that we did not write. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { lacks } from '../support/programs.ts';
import { whileBusy } from './busy.ts';
import { type Circumstances, casesIn, circumstances } from './cases.ts';
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

/** What takes seconds takes longer on a machine that does much else meanwhile. */
const TIMEOUT_MS = 300_000; // of a machine that is busy

/** Codes that are documented and not asked for here. */
const notAsked = [
  'bad_request', // for what is no HTTP: the tools speak nothing else
  'malformed_json', // respect writes its bodies itself, and Prism parses them
  'too_many_domains', // takes a hundred domains (test/http/domains.test.ts)
  'too_many_webhooks', // takes ten (test/http/webhooks.test.ts)
  'too_many_streams', // takes twenty that are open (test/http/events.test.ts)
  'too_many_diagnoses', // takes ten that are under way (test/http/diagnosis.test.ts)
];

/** Whatever a tool has against the answers of a service, in words. */
type Judge = (
  origin: string,
  cases: readonly Case[],
  context: Context,
) => Promise<readonly string[]>;

describe.skipIf(lacks('postgres', 'the OpenAPI document, by Redocly respect and Prism'))(
  'a live service and its OpenAPI document',
  () => {
    let services: Services;
    let document: string;
    let documented: readonly DocumentedOperation[];
    let shared: Context;

    const ownContext = () => makeContext(services.origins.plain, API_KEY);

    async function problemsIn(where: Circumstances, judge: Judge): Promise<readonly string[]> {
      // Where requests have effects, each tool has things of its own.
      const context = where === 'plain' ? await ownContext() : shared;
      const act = (cases: readonly Case[]) => judge(services.origins[where], cases, context);
      return where === 'busy'
        ? whileBusy(services, documented, context, act)
        : act(casesIn(where, documented));
    }

    beforeAll(async () => {
      services = await startServices();
      document = await fetchDocument(services.origins.plain);
      documented = operationsOf(document);
      shared = await ownContext();
      // In other contexts, the same Idempotency-Keys will come with other requests.
      for (const { operation, asking, code } of casesIn('plain', documented)) {
        if (code !== 'idempotency_key_reused') continue;
        await send(`${services.origins.plain}${operation.base}`, operation, asking(shared));
      }
    }, TIMEOUT_MS);

    afterAll(() => services?.close());

    test('every answer that the document lists is asked for, and no other', () => {
      const asked = circumstances.flatMap((where) => casesIn(where, documented)).map(titleOf);
      const listed = documented.flatMap((operation) => answersOf(operation, notAsked));
      expect([...new Set(asked)].sort()).toEqual(listed.toSorted());
    });

    describe('Prism, as a validating proxy', () => {
      let prism: Prism;
      beforeAll(async () => {
        prism = await startPrism(document);
      }, TIMEOUT_MS);
      afterAll(() => prism?.close());

      test.each(circumstances)(
        'finds every answer as documented: %s',
        async (where) => expect(await problemsIn(where, prism.judge)).toEqual([]),
        TIMEOUT_MS,
      );
    });

    describe('Redocly respect', () => {
      test.each(circumstances)(
        'finds every answer as documented: %s',
        async (where) =>
          expect(await problemsIn(where, (...asked) => respect(document, ...asked))).toEqual([]),
        TIMEOUT_MS,
      );
    });

    describe('a document that is wrong', () => {
      const found = (kind: string) => expect.stringContaining(kind);
      const inQuestion = () =>
        casesIn('plain', documented).filter(
          ({ operation: { operationId }, fits, status }) =>
            operationId === 'getPet' && fits && (status === 200 || status === 404),
        );

      test(
        'is found out by Prism',
        async () => {
          const prism = await startPrism(wrongAboutGetPet(document));
          try {
            const { origins } = services;
            expect(await prism.judge(origins.plain, inQuestion(), shared)).toEqual([
              found('getPet 404 pet_not_found: response: '),
              found('getPet 200: response.body.id: '),
            ]);
          } finally {
            await prism.close();
          }
        },
        TIMEOUT_MS,
      );

      test(
        'is found out by respect',
        async () => {
          const wrong = wrongAboutGetPet(document);
          const { origins } = services;
          expect(await respect(wrong, origins.plain, inQuestion(), shared)).toEqual([
            found('getPet 404 pet_not_found: status code check'),
            found('getPet 200: schema check'),
          ]);
        },
        TIMEOUT_MS,
      );
    });
  },
);
