/** Whose a job is, by its id alone: what an operator is told of a job whose content cannot be read. */
import { describe, expect, it } from 'vitest';
import { domainIdIn, jobId, rowIdIn } from '../../src/core/operations/jobs.ts';

const id = '0198c1f2-7c3e-4c55-9a54-0b8d5a6f1c11';

describe('the id of a job says', () => {
  it.each([
    ['whose life a domain job is of', jobId({ domainId: id, epoch: 12 }), id, id],
    ['which delivery it is, and no domain', jobId({ deliveryId: id }), id, null],
    ['nothing of a sweep', jobId({}), null, null],
    ['nothing where it is not one of ours', `${id}.1.2`, null, null],
    ['nothing without an epoch behind its point', `${id}.`, null, null],
    ['nothing in upper case', `${id.toUpperCase()}.1`, null, null],
  ])('%s', (_title, job, row, domain) => {
    expect(rowIdIn(job)).toBe(row);
    expect(domainIdIn(job)).toBe(domain);
  });
});
