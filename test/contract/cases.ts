/**
 * Every request of the contract tests: those in test/contract/operations.ts and common errors by kind of operation. The
 * kind decides, not the document, so that a missing response in the document is detected.
 */
import { rowsOfRun } from '../support/run.ts';
import type { DocumentedOperation } from './document.ts';
import { operations } from './operations.ts';
import { type Asking, adding, type Case, withKey } from './requests.ts';

/** The states of a service, each with its own requests. */
export const circumstances = [
  'plain',
  'exhausted',
  'full',
  'without database',
  'busy',
  'after 2030',
] as const;
export type Circumstances = (typeof circumstances)[number];

/** The cases of one service in sending order. */
export function casesIn(
  where: Circumstances,
  documented: readonly DocumentedOperation[],
): readonly Case[] {
  return documented.flatMap((operation) => {
    const asks = operations[operation.operationId];
    if (asks === undefined) return []; // the coverage test reports it
    const [status, success] = asks.success;
    const row = ([status, code, fits, asking]: Row) => ({ operation, status, code, fits, asking });
    if (where !== 'plain') return inTrouble(where, operation, success).map(row);
    return [
      // Errors first: the successful request may remove what they need.
      ...(asks.refusals ?? []).map(([status, code, asking]) =>
        row([status, code, true, withKey(operation, asking)]),
      ),
      ...(asks.misfits ?? []).map(([status, code, asking]) =>
        row([status, code, false, withKey(operation, asking)]),
      ),
      ...general(operation, success).map(row),
      ...when(!operation.isEndless, [status, null, true, withKey(operation, success)]).map(row),
    ];
  });
}

/** All cases in the long run; in the quick run the successes and one error of each kind. */
export function sampleFor(tool: 'prism' | 'respect', cases: readonly Case[]): readonly Case[] {
  const kinds = new Map(cases.map((one) => [`${one.status} ${one.code} ${one.fits}`, one]));
  const one = new Set(kinds.values());
  const shared = cases.filter((each) => each.code === null || one.has(each));
  // A single case goes to both tools.
  return rowsOfRun(cases, (each) => {
    const place = shared.indexOf(each);
    return place === 0 || (place > 0 && (place % 2 === 0) === (tool === 'prism'));
  });
}

/** Status, code, whether the document allows the request, and the request. */
type Row = readonly [status: number, code: string | null, fits: boolean, asking: Asking];

/** Cases common to all operations of a kind. */
function general(operation: DocumentedOperation, success: Asking): readonly Row[] {
  const { method, scope, takesBody } = operation;
  const asked = withKey(operation, success);
  const needsKey = scope !== null;
  return [
    [400, 'invalid_query', true, withQuery(asked, { color: 'red' })],
    ...when(operation.answers.has(304), [
      304,
      null,
      true,
      withHeaders(asked, { 'if-none-match': '*' }),
    ]),
    ...when(
      needsKey,
      [401, 'unauthorized', false, success],
      [401, 'unauthorized', true, withHeaders(success, { authorization: 'Bearer nobody' })],
    ),
    ...when(needsKey && scope !== 'any', [
      403,
      'insufficient_scope',
      true,
      withForeignKey(operation, success),
    ]),
    ...when(
      takesBody,
      [400, 'invalid_body', false, withBody(asked, { json: { color: 'red' } })],
      [400, 'json_too_deep', false, withBody(asked, { json: { color: nested(33) } })],
      [413, 'body_too_large', false, withBody(asked, { json: { color: 'x'.repeat(70_000) } })],
      [415, 'unsupported_media_type', false, withBody(asked, { text: 'name=Rex' })],
    ),
    ...when(
      needsKey && method === 'POST' && !isRepeated(operation),
      [400, 'invalid_idempotency_key', true, withHeaders(asked, { 'idempotency-key': '"' })],
      [422, 'idempotency_key_reused', true, withHeaders(asked, usedKey(operation))],
    ),
  ];
}

/** Each request is meant to have an effect, so Idempotency-Key is ignored. */
const isRepeated = ({ operationId }: DocumentedOperation) =>
  /^test(Operator)?Webhook$/.test(operationId);

/** Operations without a key that query the database. */
const asksTheDatabase: ReadonlySet<string> = new Set(['getReadiness', 'mayHaveCertificate']);

/** Errors caused by the state of the service alone. */
function inTrouble(
  where: Exclude<Circumstances, 'plain'>,
  operation: DocumentedOperation,
  success: Asking,
): readonly Row[] {
  const { operationId, method, scope } = operation;
  const asked = withKey(operation, success);
  const needsKey = scope !== null;
  switch (where) {
    case 'exhausted':
      return [[429, 'rate_limited', true, asked]];
    case 'full':
      return [[503, 'too_many_connections', true, asked]];
    case 'without database':
      return when(needsKey || asksTheDatabase.has(operationId), [503, 'unavailable', true, asked]);
    case 'busy': {
      const again = withHeaders(asked, busyKey(operation));
      const takesKey = needsKey && method === 'POST' && !isRepeated(operation);
      return when(takesKey, [409, 'idempotency_key_in_use', true, again]);
    }
    case 'after 2030':
      return when(operationId === 'getPet', [410, 'gone', true, asked]);
  }
}

/** The Idempotency-Key of a request that is under way on the busy service. */
function busyKey({ operationId }: DocumentedOperation) {
  return { 'idempotency-key': `"busy ${operationId}"` };
}

/** The Idempotency-Key of an earlier, different request. */
function usedKey({ operationId }: DocumentedOperation) {
  return { 'idempotency-key': `"used ${operationId}"` };
}

function when(applies: boolean, ...rows: readonly Row[]): readonly Row[] {
  return applies ? rows : [];
}

function withHeaders(asking: Asking, headers: Readonly<Record<string, string>>): Asking {
  return (context) => adding(asking(context), headers);
}

function withQuery(asking: Asking, query: Readonly<Record<string, string>>): Asking {
  return (context) => {
    const ask = asking(context);
    return { ...ask, query: { ...ask.query, ...query } };
  };
}

function withBody(
  asking: Asking,
  body: { readonly json: object } | { readonly text: string },
): Asking {
  return (context) => {
    const { json: _, ...ask } = asking(context);
    return { ...ask, ...body };
  };
}

/** With a key of another scope. */
function withForeignKey({ scope }: DocumentedOperation, asking: Asking): Asking {
  return (context) => {
    const key = scope?.startsWith('pets:') ? context.domainsKey : context.petsKey;
    return adding(asking(context), { authorization: `Bearer ${key}` });
  };
}

function nested(levels: number): unknown {
  return levels === 0 ? 'red' : [nested(levels - 1)];
}
