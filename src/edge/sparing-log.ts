/** A log for faults that anybody can cause, as often as they like: scanners, while the database is away. */
import type { EdgeDeps } from './deps.ts';

const EVERY_MS = 5_000;

/**
 * The same log, with one line of each kind of error in `everyMs`: the first at once, and then, where more came, the last
 * of them with their `count`. A kind is what the line says, so there are few.
 */
export function sparingLog(log: EdgeDeps['log'], everyMs: number = EVERY_MS): EdgeDeps['log'] {
  const held = new Map<string, { count: number; fields: object }>();

  function say(fields: object, kind: string): void {
    log.error(fields, kind);
    const more = { count: 0, fields };
    held.set(kind, more);
    setTimeout(() => {
      held.delete(kind);
      if (more.count > 0) say({ ...more.fields, count: more.count }, kind);
    }, everyMs).unref();
  }

  function error(fields: object, kind: string): void {
    const more = held.get(kind);
    if (more === undefined) {
      say(fields, kind);
    } else {
      more.count += 1;
      more.fields = fields;
    }
  }

  return {
    debug: log.debug.bind(log),
    warn: log.warn.bind(log),
    error: (fields: unknown, kind: unknown = '') =>
      error(typeof fields === 'object' && fields !== null ? fields : { err: fields }, String(kind)),
  };
}
