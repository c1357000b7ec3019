import type { Logger } from 'pino';

export type Timer = {
  /** Aborts the current run; resolves when it has ended. */
  stop(): Promise<void>;
};

/**
 * Runs `turn` at once and then every `everyMs`, never concurrently. Logs a fault, only the first in
 * a row, and continues. Faults after `stop` are not logged, since resources can be closed by then.
 */
export function startTimer(
  what: string,
  everyMs: number,
  turn: (stop: AbortSignal) => Promise<unknown>,
  log: Logger,
): Timer {
  const stopping = new AbortController();
  let current: Promise<void> | undefined;
  let failing = false;
  const once = async () => {
    try {
      await turn(stopping.signal);
      failing = false;
    } catch (err) {
      if (!failing && !stopping.signal.aborted) log.error({ err }, `${what} failed`);
      failing = true;
    } finally {
      current = undefined;
    }
  };
  const tick = () => {
    current ??= once();
  };
  tick();
  const timer = setInterval(tick, everyMs);
  return {
    async stop() {
      clearInterval(timer);
      stopping.abort();
      await current;
    },
  };
}
