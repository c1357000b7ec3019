/** Keeps one request of each POST under way, so that the same requests get 409. */
import pg from 'pg';
import { until } from '../support/world.ts';
import { casesIn } from './cases.ts';
import type { Context } from './context.ts';
import type { DocumentedOperation } from './document.ts';
import { type Case, send } from './requests.ts';
import type { Services } from './services.ts';

/** Each holds one of a process's ten connections (src/db/engine/client.ts). */
const AT_ONCE = 8;

/** Runs `act` with a few cases at a time and returns all results. */
export async function whileBusy(
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
