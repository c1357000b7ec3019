/** What a job's ID reveals when its content cannot be read. */
import { describe, expect, it } from 'vitest';
import { domainIdIn, jobId, rowIdIn } from '../../src/core/operations/jobs.ts';

const id = '0198c1f2-7c3e-4c55-9a54-0b8d5a6f1c11';

describe('the ID of a job contains', () => {
  it.each([
    ['the domain and epoch of a domain job', jobId({ domainId: id, epoch: 12 }), id, id],
    ['the delivery but no domain', jobId({ deliveryId: id }), id, null],
    ['no row for a sweep', jobId({}), null, null],
    ['no row for an unknown ID', `${id}.1.2`, null, null],
    ['no row without an epoch after its dot', `${id}.`, null, null],
    ['no row in upper case', `${id.toUpperCase()}.1`, null, null],
  ])('%s', (_title, job, row, domain) => {
    expect(rowIdIn(job)).toBe(row);
    expect(domainIdIn(job)).toBe(domain);
  });
});
