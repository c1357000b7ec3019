import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createBringNow, type WantedJob } from '../../src/queue/queues.ts';
import { noon } from '../support/builders.ts';

const job = { domainId: randomUUID(), epoch: 3 };

async function bring(wasQuarantined: boolean) {
  const did: unknown[] = [];
  const bringNow = createBringNow({
    quarantine: {
      endAt: async (queue, jobId, at) => {
        did.push(['end', queue, jobId, at]);
        return wasQuarantined;
      },
    },
    queues: {
      ensure: async (_queue, jobs: readonly WantedJob[]) => {
        did.push(['ensure', ...jobs]);
        return { added: 0, woken: 0 };
      },
      promote: async (_queue, wanted) => void did.push(['promote', wanted]),
    },
    now: () => noon,
  });
  await bringNow('issue-certificate', job);
  return did;
}

describe('a job that is needed now', () => {
  it('exists and is due afterwards', async () => {
    const id = `${job.domainId}.3`;
    expect(await bring(false)).toEqual([
      ['end', 'issue-certificate', id, noon],
      ['ensure', { job, runAt: noon }],
      ['promote', job],
    ]);
  });

  it('is on probation if it was quarantined', async () => {
    expect((await bring(true))[1]).toEqual(['ensure', { job, runAt: noon, probation: true }]);
  });
});
