/** How long statements wait for a connection of a pool. `pg` says how many wait, and not for how long. */
import type pg from 'pg';

type Got = Parameters<Parameters<pg.Pool['connect']>[0]>;

/** Has `waited` told of every connection that the pool gives out; `pool.query` asks for one in the same way. */
export function tellWaits(pool: pg.Pool, waited: (seconds: number) => void): void {
  const connect = pool.connect.bind(pool);
  function timed(callback?: (...got: Got) => void): Promise<pg.PoolClient> | undefined {
    const began = performance.now();
    const tell = () => waited((performance.now() - began) / 1_000);
    if (callback === undefined) return connect().finally(tell);
    connect((...got) => {
      tell();
      callback(...got);
    });
    return undefined;
  }
  // One function for both of its overloads, which the type of the property does not let a function be.
  pool.connect = timed as typeof pool.connect;
}
