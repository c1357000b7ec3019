import { type Logger, pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { MINUTE, SECOND } from '../../src/core/time.ts';
import { HOLD_MS, logOptions } from '../../src/ops/log.ts';
import { createOutageLog } from '../../src/ops/outages.ts';

const storage = {
  kind: 'postgres_redis',
  databaseUrl: 'postgresql://signpost@db.example:5432/signpost',
  redisUrl: 'redis://redis.example:6379',
} as const;
const refused = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
const full = Object.assign(new Error('could not extend file'), { code: '53100' });

let log: Logger;
let lines: { readonly level: number; readonly msg: string; readonly what?: string }[];
const loud = () => lines.filter(({ level }) => level >= 40).map(({ msg, what }) => what ?? msg);
const note = (database: 'up' | 'down') => outages.note({ dependencies: { database } });
let outages: ReturnType<typeof createOutageLog>;

beforeEach(() => {
  vi.useFakeTimers();
  lines = [];
  const write = (line: string) => void lines.push(JSON.parse(line));
  log = pino(logOptions({ logLevel: 'debug', role: 'all' }), { write });
  outages = createOutageLog(log, storage, () => performance.now());
});
afterEach(() => void vi.useRealTimers());

describe('A line whose error is an outage', () => {
  it('is at debug while the log names the dependency every minute', () => {
    for (let second = 0; second < 180; second += 1) {
      if (second % 5 === 4) note('down');
      log.error({ err: refused, what: 'fault' }, 'fault');
      log.warn({ err: new Error('Command timed out'), what: 'queue' }, 'the queue is unavailable');
      vi.advanceTimersByTime(SECOND);
    }
    expect(loud()).toEqual(Array(3).fill('a dependency does not answer'));
    expect(lines.filter(({ level, what }) => level === 20 && what === 'fault')).toHaveLength(180);
  });

  it('is still at debug shortly after the dependency answers again', () => {
    note('down');
    note('up');
    log.error({ err: refused }, 'fault');
    vi.advanceTimersByTime(MINUTE);
    expect(loud()).toEqual(['a dependency does not answer']);
  });

  it('is logged once a minute when every dependency answers', () => {
    for (let second = 0; second < 180; second += 1) {
      note('up');
      log.error({ err: full, what: `full ${second}` }, 'fault');
      vi.advanceTimersByTime(SECOND);
    }
    expect(loud()).toEqual(['full 0', 'full 60', 'full 120']);
    expect(HOLD_MS).toBeGreaterThan(2 * 5 * SECOND); // WATCH_MS in process/ops.ts
  });

  it('is logged at once when it ends the process', () => {
    log.fatal({ err: refused }, 'could not stop cleanly');
    expect(loud()).toEqual(['could not stop cleanly']);
  });

  it('with another error stays as it is', () => {
    note('down');
    log.error({ err: new TypeError('x is not a function'), what: 'defect' }, 'fault');
    log.warn('a plain line');
    expect(loud()).toEqual(['a dependency does not answer', 'defect', 'a plain line']);
  });
});
