/** What every worker process does by the clock, queue or no queue. */
import type { Logger } from 'pino';

export type Timer = {
  /** No run begins any more, and the one under way is told to end; resolves when it has. */
  stop(): Promise<void>;
};

/**
 * Runs `turn` at once and then every `everyMs`, never twice at once: a turn that takes longer delays the next. A fault
 * is logged, the first of a row only, and the timer goes on. `stop` is aborted when the timer is stopped; a fault after
 * that is not logged, because what the process had open may be gone.
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
      if (!failing && !stopping.signal.aborted) log.error({ err }, `${what} met a fault`);
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
