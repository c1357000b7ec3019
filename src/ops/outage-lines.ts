import type { Logger, LoggerOptions } from 'pino';
import { MINUTE, SECOND } from '../core/time.ts';
import { isOutage } from '../queue/outage.ts';

const levels = { warn: 40, error: 50 } as const; // pino's
/** Longer than the watch takes to notice an outage (`WATCH_MS` in process/ops.ts). */
export const HOLD_MS = 12 * SECOND;

type LogMethod = NonNullable<NonNullable<LoggerOptions['hooks']>['logMethod']>;

/**
 * During an outage, outages.ts logs one line per minute that names the dependency. So lines at `warn`
 * and `error` whose `err` is an outage become `debug`. If outages.ts logs no line within HOLD_MS, the
 * first keeps its level, at most once a minute: the disk can be full although the database answers.
 */
export function outageHook(): LogMethod {
  const away = new Set<unknown>();
  let explainedAt = Number.NEGATIVE_INFINITY;
  let isHolding = false;

  function noteDependency(fields: object, level: number): void {
    const dependency: unknown = Reflect.get(fields, 'dependency');
    if (dependency === undefined) return;
    if (level < levels.warn) away.delete(dependency);
    else away.add(dependency);
    explainedAt = performance.now();
  }

  function hold(write: () => void): void {
    if (isHolding || away.size > 0) return;
    isHolding = true;
    setTimeout(() => {
      if (performance.now() - explainedAt > 2 * HOLD_MS) write();
      setTimeout(() => {
        isHolding = false;
      }, MINUTE - HOLD_MS).unref();
    }, HOLD_MS).unref();
  }

  return function logMethod(this: Logger, args, method, level) {
    const [fields]: readonly unknown[] = args;
    if (typeof fields !== 'object' || fields === null) return method.apply(this, args);
    noteDependency(fields, level);
    const mayDemote = level === levels.warn || level === levels.error;
    if (!mayDemote || !isOutage(Reflect.get(fields, 'err'))) return method.apply(this, args);
    this.debug(...args);
    hold(() => method.apply(this, args));
  };
}
