import { expect, it } from 'vitest';
import type { DomainDetails } from '../../src/db/domains/domain-list.ts';
import { forgetEpoch, runNow, wakeDomain } from '../../src/http/routes/after-commit.ts';
import { plainService } from '../support/plain-service.ts';

const away = () => Promise.reject(new Error('Connection is closed.'));
const domain = { id: 'd1', epoch: 2, status: 'pending', nextCheckAt: new Date() } as DomainDetails;

it('Changes to jobs are logged while the queue is down, and never fail the request', async () => {
  const lines: object[] = [];
  const service = plainService({
    bringNow: away,
    queues: { enqueue: away, remove: away },
    log: { warn: ({ err, ...fields }, message) => void lines.push({ ...fields, message }) },
  });
  await wakeDomain(service, domain, 'r1');
  await runNow(service, 'issue-certificate', { domainId: 'd1', epoch: 2 }, 'r2');
  await forgetEpoch(service, { id: 'd1', epoch: 1 }, 'r3');
  const message = 'the queue is unavailable; the reconciler will repair it';
  expect(lines).toEqual([
    { what: 'wake', domainId: 'd1', requestId: 'r1', message },
    { what: 'wake', domainId: 'd1', requestId: 'r2', message },
    { what: 'forget', domainId: 'd1', requestId: 'r3', message },
  ]);
});
