/** What the sweeps share: limits, and progress despite single failures. */
import { describe, expect, it } from 'vitest';
import type { Lease, TakenDomain } from '../../src/db/domains/sweeps.ts';
import { type SweepRun, sweep } from '../../workers/running/sweep.ts';
import { noon } from '../support/builders.ts';

const running = new AbortController().signal;

const lease: Lease = { now: noon, leasesMs: [1_000] };

/** `due` are taken in order, `suspects` for the fourth time; actions are recorded. */
function world(due: readonly string[], suspects: readonly string[] = []) {
  const left = [...due];
  const suspectsLeft = [...suspects];
  const done: string[] = [];
  const worked: string[] = [];
  const faults: string[] = [];
  const batches: number[] = [];
  let underWay = 0;
  let mostUnderWay = 0;
  const given: SweepRun = {
    due: {
      take: async ({ limit, suspects: ofSuspects }): Promise<TakenDomain[]> => {
        if (ofSuspects) {
          return suspectsLeft.splice(0, limit).map((id) => ({ id, takes: 4 }));
        }
        const taken = left.splice(0, limit);
        batches.push(taken.length);
        return taken.map((id) => ({ id, takes: id === 'twice' ? 2 : 1 }));
      },
      settle: async (id) => void done.push(`settle ${id}`),
      giveBack: async (ids) => void done.push(`give back ${ids.join(' ')}`),
      noteReason: async (id, reason) => void done.push(`${id}: ${reason}`),
    },
    lease: () => lease,
    work: async (id) => {
      underWay += 1;
      mostUnderWay = Math.max(mostUnderWay, underWay);
      await new Promise((resolve) => setImmediate(resolve));
      worked.push(id);
      underWay -= 1;
    },
    onFault: (fault, id) => faults.push(`${id}: ${String(fault)}`),
    batch: 4,
    atOnce: 2,
  };
  return { given, worked, faults, batches, done, left, mostUnderWay: () => mostUnderWay };
}

const ten = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j'];
/** The driver's error when the database is down. */
const outage = () => Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });

describe('a sweep', () => {
  it('works through all due domains in batches with limited concurrency', async () => {
    const { given, worked, batches, mostUnderWay } = world(ten);
    expect(await sweep(given, running)).toBe(10);
    expect(worked.toSorted()).toEqual(ten);
    expect(batches).toEqual([4, 4, 2]);
    expect(mostUnderWay()).toBe(2);
  });

  it('queries once when none is due', async () => {
    const { given, batches } = world([]);
    expect(await sweep(given, running)).toBe(0);
    expect(batches).toEqual([0]);
  });

  it('continues after a failing domain and reports its error', async () => {
    const { given, worked, faults } = world(ten);
    const work = async (id: string) => {
      if (id === 'c') throw new Error('impossible row');
      await given.work(id);
    };
    expect(await sweep({ ...given, work }, running)).toBe(10);
    expect(worked).toHaveLength(9);
    expect(faults).toEqual(['c: Error: impossible row']);
  });

  it('ends with an outage instead of failing every domain', async () => {
    const { given, worked, faults, done } = world(ten);
    const work = async (id: string) => {
      if (id === 'b') throw outage();
      await given.work(id);
    };
    await expect(sweep({ ...given, work }, running)).rejects.toThrow('ECONNREFUSED');
    expect(worked).toEqual(['a']);
    expect(faults).toEqual([]);
    expect(done).toEqual(['give back b c d']);
  });

  it('rejects once when it cannot take domains', async () => {
    const { given } = world([]);
    const due = { ...given.due, take: () => Promise.reject(outage()) };
    await expect(sweep({ ...given, due }, running)).rejects.toThrow('ECONNREFUSED');
  });

  it('starts no more work once it stops, and finishes active work', async () => {
    const stop = new AbortController();
    const { given, worked, left, done } = world(ten, ['suspect']);
    const work = async (id: string) => {
      if (id === 'b') stop.abort();
      await given.work(id);
    };
    expect(await sweep({ ...given, work }, stop.signal)).toBe(2);
    expect(worked.toSorted()).toEqual(['a', 'b']);
    expect(left).toHaveLength(6);
    expect(done).toEqual(['give back c d']);
  });

  it('runs suspects alone at the end, as they may kill the worker', async () => {
    const { given, worked, done } = world(ten, ['x', 'y']);
    const open = new Set<string>();
    const beside: string[] = [];
    const work = async (id: string) => {
      open.add(id);
      if (id === 'x' || id === 'y') beside.push(...open);
      await given.work(id);
      open.delete(id);
    };
    expect(await sweep({ ...given, work }, running)).toBe(12);
    expect(worked.slice(10)).toEqual(['x', 'y']);
    expect(beside).toEqual(['x', 'y']);
    expect(done).toEqual(['settle x', 'settle y']);
  });

  it('clears the note of a domain that succeeds, and notes the reason of a failure', async () => {
    const { given, done } = world(['a', 'twice'], ['x']);
    const work = async (id: string) => {
      if (id !== 'twice') throw new TypeError(`impossible row ${id}`);
    };
    await sweep({ ...given, work }, running);
    expect(done).toEqual(['settle twice', 'x: TypeError: impossible row x']);
  });
});
