/** Shares running work; caches are the callers' own (docs/decisions/0026-shared-mechanisms.md). */

/**
 * Calls with the same key share one run, including its error. It starts before the call returns.
 */
export type SingleFlight<Value> = (key: string, run: () => Promise<Value>) => Promise<Value>;

export function createSingleFlight<Value>(): SingleFlight<Value> {
  const running = new Map<string, Promise<Value>>();
  return (key, run) => {
    const shared = running.get(key);
    if (shared !== undefined) return shared;
    const started = run().finally(() => running.delete(key));
    running.set(key, started);
    return started;
  };
}
