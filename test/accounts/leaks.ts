/** What a stranger learns of a customer: any difference to IDs that never existed. */

import { AsyncLocalStorage } from 'node:async_hooks';
import pg from 'pg';
import type { Route } from '../../src/http/pipeline/route.ts';
import { type Asking, askingFor, type Cursors, type Stranger } from './strangers.ts';
import { absent, type Customer, replaceBigint, type TwoAccounts } from './two-accounts.ts';

/* Counts the SQL statements of a call, which decide how long its response takes. */

type Counted<T> = { readonly result: T; readonly statements: number };

/** `restore`: call it when the test ends. Statements of work in the background do not count. */
function countStatements() {
  const calls = new AsyncLocalStorage<{ statements: number }>();
  const { query } = pg.Client.prototype;
  pg.Client.prototype.query = function counted(this: pg.Client, ...given: unknown[]) {
    const call = calls.getStore();
    if (call !== undefined) call.statements += 1;
    return Reflect.apply(query, this, given);
  } as typeof query;
  return {
    async count<T>(act: () => Promise<T>): Promise<Counted<T>> {
      const call = { statements: 0 };
      const result = await calls.run(call, act);
      return { result, statements: call.statements };
    },
    restore() {
      pg.Client.prototype.query = query;
    },
  };
}

/** One line for each request whose response differs, in content, headers or SQL statements. */
export async function leaksTo(
  { call }: Pick<TwoAccounts, 'call'>,
  stranger: Stranger,
  routes: readonly Route[],
  customer: Customer,
  cursors?: Cursors,
): Promise<readonly string[]> {
  const { count, restore } = countStatements();
  const ask = async ({ line, json, headers }: Asking, about: Customer) => {
    const { key } = stranger;
    const all = { ...stranger.headers, ...headers };
    const asked = { key, headers: all, ...(json !== undefined && { json }) };
    const { result, statements } = await count(() => call(line, asked));
    const { status, headers: sent, text } = result;
    const shown = line.startsWith('GET /v1/audit') ? withoutOwn(text, customer) : text;
    const whole = `${status} ${JSON.stringify(Object.entries(sent).sort())} ${shown}`;
    return { content: neutral(whole, about), statements };
  };
  const leaks: string[] = [];
  const nobody = absent(customer, stranger);
  for (const route of routes.filter(({ scope }) => scope !== stranger.sees)) {
    for (const [known, unknown] of pairsFor(route, stranger, customer, nobody)) {
      const others = askingFor(route, unknown, cursors);
      for (const [nth, asking] of askingFor(route, known, cursors).entries()) {
        const leak = await leakOf(
          customer.mark,
          () => ask(others[nth] ?? asking, unknown),
          () => ask(asking, known),
        );
        if (leak === null) continue;
        leaks.push(`${route.operationId} ${JSON.stringify(asking, replaceBigint)}\n${leak}`);
      }
    }
  }
  restore();
  return leaks;
}

/** Without what the stranger's account did: its entries name the IDs that it sent. */
function withoutOwn(text: string, { accountId }: Customer): string {
  const body: unknown = JSON.parse(text);
  if (!Array.isArray(body)) return text;
  return JSON.stringify(body.filter((one) => [accountId, null].includes(one.accountId)));
}

/** Everything is the customer's, or all but the project, if the path or the body names more. */
function pairsFor(
  { operationId, path }: Route,
  { isOfAccount, projectId }: Stranger,
  customer: Customer,
  nobody: Customer,
): readonly (readonly [Customer, Customer])[] {
  const namesMore = /:projectId\/.*:/.test(path);
  const bodyNamesMore = ['putDomainSettings', 'updateProject'].includes(operationId);
  if (!namesMore && (!bodyNamesMore || isOfAccount === true)) return [[customer, nobody]];
  return [
    [customer, nobody],
    [
      { ...customer, projectId },
      { ...nobody, projectId },
    ],
  ];
}

type Answer = { readonly content: string; readonly statements: number };

const ATTEMPTS = 5;

/**
 * Work in the background can start in a call, so different numbers are counted again, in the other order. Only a call
 * that runs more statements each time, whichever comes first, is a leak.
 */
async function leakOf(
  mark: string,
  askUnknown: () => Promise<Answer>,
  askForeign: () => Promise<Answer>,
): Promise<string | null> {
  const signs = new Set<number>();
  let numbers = '';
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const [unknown, foreign] = await inOrder(attempt, askUnknown, askForeign);
    if (foreign.content !== unknown.content) return `${foreign.content}\n${unknown.content}`;
    if (foreign.content.includes(mark)) return `has the mark: ${foreign.content}`;
    signs.add(Math.sign(foreign.statements - unknown.statements));
    if (signs.has(0) || signs.size > 1) return null;
    numbers = `${foreign.statements} statements, and ${unknown.statements}`;
  }
  return `runs ${numbers} for an unknown ID`;
}

/** The first of both is called first in even attempts. */
async function inOrder<T>(
  attempt: number,
  first: () => Promise<T>,
  second: () => Promise<T>,
): Promise<readonly [T, T]> {
  if (attempt % 2 === 0) return [await first(), await second()];
  const ofSecond = await second();
  return [await first(), ofSecond];
}

/** Without what a response repeats of its request, and without times and what a timer writes. */
function neutral(text: string, customer: Customer): string {
  const { mark, ...given } = customer;
  return Object.values(given)
    .sort((a, b) => b.length - a.length)
    .reduce((rest, value) => rest.replaceAll(value, '…'), text)
    .replaceAll(/"requestId":"[^"]*"/g, '')
    .replaceAll(/\["(content-length|etag|ratelimit|traceparent|x-request-id)","[^\]]*"\]/g, '')
    .replaceAll(/"deprecatedUses":\[[^\]]*\]|"lastUsedAt":(?:null|"[^"]*")/g, '')
    .replaceAll(/"id":\d+|\/v1\/pets\/\d+/g, '')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z|"\w*[mM]s":\d+|"cost":\{[^}]*\}/g, '');
}
