/** Counts the SQL statements of a call, which decide how long its response takes. */
import { AsyncLocalStorage } from 'node:async_hooks';
import pg from 'pg';

type Counted<T> = { readonly result: T; readonly statements: number };

/** `restore`: call it when the test ends. Statements of work in the background do not count. */
export function countStatements() {
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
