/** One attempt of a job without a queue: what is recorded, and when it is quarantined. */
import { describe, expect, it } from 'vitest';
import type { JobResult } from '../../workers/running/job.ts';
import { createAttempts, type RawJob } from '../../workers/running/run-job.ts';
import { later, noon } from '../support/builders.ts';
import { plainService } from '../support/plain-service.ts';

const domainId = '00000000-0000-4000-8000-000000000001';
const id = `${domainId}.1`;
const job = { domainId, epoch: 1 };
const again: JobResult = { kind: 'again', at: later(noon, 60_000), note: 'record_missing' };

function world() {
  const quarantined: { queue: string; jobId: string; domainId: string | null; reason: string }[] =
    [];
  const forgotten: string[] = [];
  const noted: unknown[] = [];
  const updateData = async (data: unknown) => void noted.push(data);
  const service = plainService({
    quarantine: {
      async add(suspect) {
        quarantined.push(suspect);
        return { times: 1, until: later(noon, 300_000) };
      },
      forget: async (_, jobId) => void forgotten.push(jobId),
    },
  });
  const attempts = createAttempts(service);
  const attempt = (raw: Partial<RawJob>, run: () => Promise<JobResult> = async () => again) =>
    attempts('check-dns', { id, data: job, stalledCounter: 0, updateData, ...raw }, run);
  return { attempts, attempt, quarantined, forgotten, noted, updateData };
}

const fault = async (): Promise<JobResult> => {
  throw new TypeError('x is not a function');
};
const outage = async (): Promise<JobResult> => {
  throw Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });
};

describe('an attempt', () => {
  it('that succeeds leaves the job unchanged', async () => {
    expect(await world().attempt({})).toEqual({ result: again });
  });

  it('that meets a fault waits with the reason', async () => {
    const { attempt, quarantined } = world();
    const { result, store } = await attempt({ data: { ...job, faults: 2 } }, fault);
    expect(result).toEqual({
      kind: 'again',
      at: later(noon, 4_000),
      note: 'fault 3: TypeError: x is not a function',
    });
    expect(store).toEqual({ ...job, faults: 3 });
    expect(quarantined).toEqual([]);
  });

  it('that meets the tenth fault in a row is the last for now', async () => {
    const { attempt, quarantined } = world();
    const { result } = await attempt({ data: { ...job, faults: 9 } }, fault);
    const reason = 'TypeError: x is not a function';
    expect(result).toEqual({ kind: 'over', reason });
    expect(quarantined).toEqual([{ queue: 'check-dns', jobId: id, domainId, reason }]);
  });

  it('that succeeds resets the fault count', async () => {
    const { store } = await world().attempt({ data: { ...job, faults: 9, outages: 2 } });
    expect(store).toEqual(job);
  });

  it.each([
    ['back from quarantine', { probation: true }, [id]],
    ['whose worker died right after the note of its tenth fault', { faults: 9 }, [id]],
    ['whose worker died right after the note of its crashes', { alone: 2 }, [id]],
    ['that has met only outages', { outages: 9 }, []],
    ['without any trouble', {}, []],
  ])('that succeeds clears the note of a job %s', async (_, trouble, notes) => {
    const { attempt, forgotten } = world();
    await attempt({ data: { ...job, ...trouble } });
    expect(forgotten).toEqual(notes);
  });

  it('that meets an outage is not counted as a fault', async () => {
    const { attempt, quarantined } = world();
    const { result, store } = await attempt({ data: { ...job, faults: 9, outages: 99 } }, outage);
    expect(result).toMatchObject({ kind: 'again', at: later(noon, 30_000) });
    expect(store).toEqual({ ...job, faults: 9, outages: 100 });
    expect(quarantined).toEqual([]);
  });

  it('of a job back from quarantine quarantines it again at its first fault', async () => {
    const { attempt, quarantined, forgotten } = world();
    await attempt({ data: { ...job, probation: true } }, fault);
    expect(quarantined).toHaveLength(1);
    expect(forgotten).toEqual([]);
  });

  it('of a job back from quarantine clears it by success', async () => {
    const { attempt, forgotten } = world();
    const { store } = await attempt({ data: { ...job, probation: true } });
    expect(store).toEqual(job);
    expect(forgotten).toEqual([id]);
  });
});

describe('a job whose worker dies', () => {
  it('runs alone from the second crash on, which is noted first', async () => {
    const { attempt, noted } = world();
    const seen: number[] = [];
    const run = async () => {
      seen.push(noted.length);
      return again;
    };
    expect(await attempt({ stalledCounter: 1 }, run)).toMatchObject({ result: again });
    const { store } = await attempt({ stalledCounter: 2, data: { ...job, alone: 1 } }, run);
    expect(seen).toEqual([0, 1]);
    expect(noted).toEqual([{ ...job, alone: 2 }]);
    expect(store).toEqual({ ...job, forgiven: 2 });
  });

  it('is quarantined after three crashes alone', async () => {
    const { attempt, quarantined } = world();
    const raw = { stalledCounter: 5, data: { ...job, alone: 3 } };
    const { result } = await attempt(raw, () => Promise.reject(new Error('unexpected run')));
    expect(result).toEqual({ kind: 'over', reason: 'the worker crashed 5 times during this job' });
    expect(quarantined).toHaveLength(1);
  });

  it('is not blamed for crashes beside another job', async () => {
    const { attempt, quarantined } = world();
    expect((await attempt({ stalledCounter: 50 })).result).toEqual(again);
    expect(quarantined).toEqual([]);
  });

  it('is cleared by a completed attempt, even with a fault', async () => {
    const { attempt, noted } = world();
    const { store } = await attempt({ stalledCounter: 4, data: { ...job, alone: 2 } }, fault);
    expect(store).toEqual({ ...job, faults: 1, forgiven: 4 });
    noted.length = 0;
    expect(await attempt({ data: store, stalledCounter: 5 })).toMatchObject({ result: again });
    expect(noted).toEqual([]); // it did not run alone
  });

  it('is returned to the queue while another one runs alone', async () => {
    const { attempt } = world();
    let release = () => {};
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const first = attempt({ stalledCounter: 2 }, () => gate.then(() => again));
    const second = await attempt({ stalledCounter: 2 }, fault);
    expect(second.result).toMatchObject({ note: 'its worker crashed; waits to run alone' });
    expect(second.store).toBeUndefined();
    // One that is not suspected does not wait.
    expect(await attempt({ stalledCounter: 1 })).toMatchObject({ result: again });
    release();
    expect((await first).result).toEqual(again);
    expect((await attempt({ stalledCounter: 2 })).result).toEqual(again);
  });

  it('back from quarantine runs alone and is quarantined again by one crash', async () => {
    const { attempt, quarantined, noted } = world();
    const data = { ...job, probation: true };
    await attempt({ data }, fault);
    expect(noted).toEqual([{ ...data, alone: 1 }]);
    quarantined.length = 0;
    const { result } = await attempt({ data: { ...data, alone: 1 }, stalledCounter: 1 });
    expect(result).toEqual({ kind: 'over', reason: 'the worker crashed once during this job' });
    expect(quarantined).toHaveLength(1);
  });
});

describe('an invalid job', () => {
  it.each([
    ['nothing', undefined, 'data invalid_type'],
    ['text', 'DROP TABLE domain', 'data invalid_type'],
    ['a foreign id', { domainId: '5', epoch: 1 }, 'domainId invalid_format'],
    ['no epoch', { domainId }, 'epoch invalid_type'],
    ['another job’s', { domainId, epoch: 2 }, 'foreign id'],
  ])('%s: is rejected at once with the reason', async (_, data, why) => {
    const { attempt, quarantined } = world();
    const { result } = await attempt({ data }, fault);
    expect(result).toEqual({ kind: 'over', reason: `not a job of this queue: ${why}` });
    expect(quarantined).toHaveLength(1);
  });

  it('is never a quarantined sweep, as all domains need it', async () => {
    const { attempts, quarantined, updateData } = world();
    const raw = { id: 'sweep', data: { faults: 50 }, stalledCounter: 50, updateData };
    const { result } = await attempts('recheck-live', raw, fault);
    expect(result).toMatchObject({ kind: 'again', at: later(noon, 300_000) });
    expect(quarantined).toEqual([]);
  });
});
