/** Workers that stop: no job starts afterwards, and an interrupted one leaves no trace. */

import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HOUR } from '../../src/core/time.ts';
import type { Service } from '../../src/service/service.ts';
import { type RunningWorkers, startWorkers } from '../../workers/start.ts';
import { endlessChecks, enqueueChecks, noOtherWork } from '../support/endless-checks.ts';
import { type RunningService, startService } from '../support/service.ts';
import { type FreshStorage, freshStorage, storages } from '../support/storage.ts';
import { until } from '../support/world.ts';

const onRedis = storages.find(({ name }) => name === 'postgres_redis');
const DOMAINS = 100;

/** A call that returns after its release. */
function gate<T>(answer: T) {
  let reach = () => {};
  const reached = new Promise<void>((resolve) => {
    reach = resolve;
  });
  let letGo = () => {};
  let fail = (_: Error) => {};
  const held = new Promise<T>((resolve, reject) => {
    letGo = () => resolve(answer);
    fail = reject;
  });
  const pass = () => {
    reach();
    return held;
  };
  return { reached, letGo: () => letGo(), fail: (fault: Error) => fail(fault), pass };
}

describe.skipIf(!onRedis?.available)('workers that stop', () => {
  let fresh: FreshStorage;
  let service: RunningService;
  let plain: Service;
  let workers: RunningWorkers | undefined;
  let lines: string[];

  beforeEach(async () => {
    fresh = await freshStorage('postgres_redis');
    const env = { ROLE: 'api' };
    service = await startService({ storage: fresh.storage, ca: 'local authority', env });
    lines = [];
    const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
    plain = { ...service.signpost.service, log };
  });
  afterEach(async () => {
    await workers?.close(0);
    await service.close();
    await fresh.close();
  });

  const counts = () => service.signpost.service.queues.counts('check-dns');
  /** Jobs that repeat at once, so that one is always waiting. */
  const fill = () => enqueueChecks(service.signpost.service, DOMAINS);
  function start(members: Partial<Service>, begin: () => Promise<void> = async () => undefined) {
    let checks = 0;
    const endless = endlessChecks(plain, () => {
      checks += 1;
      return begin();
    });
    const started = startWorkers({ ...endless, ...members }, noOtherWork);
    workers = started;
    return { checks: () => checks, close: started.close };
  }

  it('take no more jobs while the reconciler is blocked, and wait for it until the deadline', async () => {
    await fill();
    const turn = gate(false);
    const { checks, close } = start({ waiting: { ...plain.waiting, takeTurn: turn.pass } });
    await turn.reached;
    await until('under load', async () => checks() > 3 * DOMAINS);
    const before = checks();
    await close(8_000); // active jobs take a fraction of it, except on a busy machine
    expect(checks()).toBe(before);
    expect(await counts()).toMatchObject({ active: 0, failed: 0 });
    turn.letGo();
    await close(10_000);
    expect(lines).toEqual([]);
  });

  it('interrupt the pause between the reconciler’s two checks', async () => {
    await fill();
    const pause = gate<void>(undefined);
    const waiting = { ...plain.waiting, takeTurn: async () => true };
    // Rows unknown to the database: every job looks orphaned to the reconciler.
    const { checks, close } = start({ waiting, pause: pause.pass });
    await pause.reached;
    await until('under load', async () => checks() > 3 * DOMAINS);
    const before = checks();
    await close(10 * HOUR); // the test would time out first
    expect(checks()).toBe(before);
    const { active, delayed, waiting: waits, failed } = await counts();
    expect({ active, failed, idle: delayed + waits }).toEqual({
      active: 0,
      failed: 0,
      idle: DOMAINS,
    });
    expect(lines).toEqual([]);
  });

  it('leave an interrupted job as if killed, without a reported or counted fault', async () => {
    const [id = ''] = await enqueueChecks(service.signpost.service, 1);
    const observing = gate<void>(undefined);
    const waiting = { ...plain.waiting, takeTurn: async () => false };
    const { close } = start({ waiting }, observing.pass);
    await observing.reached;
    await close(100);
    await close(10 * HOUR); // until the worker has released it
    observing.fail(new Error('Cannot use a pool after calling end on the pool'));
    await new Promise(setImmediate); // all follow-up work is done
    expect(lines).toEqual([]);
    expect(await counts()).toMatchObject({ active: 1, delayed: 0, failed: 0 });
    expect(await service.signpost.service.queues.aliveIds('check-dns')).toEqual(new Set([id]));
  });
});
