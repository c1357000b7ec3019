import type { Logger } from 'pino';
import { MINUTE, SECOND } from '../core/time.ts';

type LimitedLog = Pick<Logger, 'debug' | 'warn' | 'error'>;
type WriteLine = (fields: object, line: string) => void;

/** Limits `error` per line. Use few different lines. */
export function limitedLog(log: LimitedLog, everyMs: number = 5 * SECOND): LimitedLog {
  const error = limitLines((fields, line) => log.error(fields, line), everyMs);
  return {
    debug: log.debug.bind(log),
    warn: log.warn.bind(log),
    error: (fields: unknown, line: unknown = '') =>
      error(typeof fields === 'object' && fields !== null ? fields : { err: fields }, String(line)),
  };
}

export function createMinuteLog(log: Pick<Logger, 'warn'>, line: string): (fields: object) => void {
  const warn = limitLines((fields) => log.warn(fields, line), MINUTE);
  return (fields) => warn(fields, line);
}

/** Writes the first call per line at once. After `everyMs`, writes the latest with a `count`. */
function limitLines(write: WriteLine, everyMs: number): WriteLine {
  const held = new Map<string, { count: number; fields: object }>();

  function writeNow(fields: object, line: string): void {
    write(fields, line);
    const more = { count: 0, fields };
    held.set(line, more);
    setTimeout(() => {
      held.delete(line);
      if (more.count > 0) writeNow({ ...more.fields, count: more.count }, line);
    }, everyMs).unref();
  }

  return (fields, line) => {
    const more = held.get(line);
    if (more === undefined) return writeNow(fields, line);
    more.count += 1;
    more.fields = fields;
  };
}
