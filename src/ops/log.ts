import { hostname } from 'node:os';
import { type Logger, type LoggerOptions, stdSerializers } from 'pino';
import type { Config } from '../config/config.ts';
import { projectVersion } from '../config/root-folder.ts';
import { withoutSecrets } from '../core/operations/quarantine.ts';
import { MINUTE, SECOND } from '../core/time.ts';
import { isOutage } from '../queue/outage.ts';

/** Codes and names; never arguments, parameters or rows. */
const keptFields = [
  ...['code', 'errno', 'syscall', 'address', 'port', 'status', 'kind'],
  ...['severity', 'schema', 'table', 'constraint', 'clientVersion'],
] as const;

/** `hostname` is this machine's, so a customer's host name is `domain`. */
export function logOptions({ logLevel, role }: Pick<Config, 'logLevel' | 'role'>): LoggerOptions {
  const base = { pid: process.pid, hostname: hostname(), role, version: projectVersion() };
  const hooks = { logMethod: outageHook() };
  return { level: logLevel, base, serializers: { err: errorInLog }, hooks };
}

/** Foreign errors contain data: ioredis command arguments, Prisma row values. */
function errorInLog(fault: unknown): object {
  if (!(fault instanceof Error)) return { type: 'Thrown', message: withoutSecrets(String(fault)) };
  const { type, message, stack } = stdSerializers.err(fault);
  const kept = keptFields.flatMap((name) => {
    const value: unknown = Reflect.get(fault, name);
    return typeof value === 'string' || typeof value === 'number' ? [[name, value]] : [];
  });
  return {
    type,
    message: withoutSecrets(message),
    stack: withoutSecrets(stack),
    ...Object.fromEntries(kept),
  };
}

const levels = { warn: 40, error: 50 } as const; // pino's
/** Longer than the watch takes to notice an outage (`WATCH_MS` in process/ops.ts). */
export const HOLD_MS = 12 * SECOND;

type LogMethod = NonNullable<NonNullable<LoggerOptions['hooks']>['logMethod']>;

/**
 * During an outage, outages.ts logs one line per minute that names the dependency. So lines at `warn`
 * and `error` whose `err` is an outage become `debug`. If outages.ts logs no line within HOLD_MS, the
 * first keeps its level, at most once a minute: the disk can be full although the database answers.
 */
function outageHook(): LogMethod {
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
