/** A domain's job, run by the real worker function. */

import type { AnyJob, DomainJob } from '../../src/core/operations/jobs.ts';
import { checkDns } from '../../workers/check-dns.ts';
import { escalateCertificate } from '../../workers/escalate-certificate.ts';
import { issueCertificate } from '../../workers/issue-certificate.ts';
import type { JobResult } from '../../workers/running/job.ts';
import type { Alarm } from './alarm-clock.ts';
import { expectOfRun } from './expect-of-run.ts';
import type { History } from './history.ts';
import { recordRun } from './run-record.ts';
import type { SystemUnderTest } from './system.ts';

type Functions = {
  readonly [name: string]:
    | ((system: SystemUnderTest, job: DomainJob) => Promise<JobResult>)
    | undefined;
};

const functions: Functions = {
  'check-dns': ({ service }, job) => checkDns(service, job),
  'issue-certificate': ({ service }, job) => issueCertificate(service, job),
  'escalate-certificate': ({ service }, job) => escalateCertificate(service, job),
};

/** Runs a job to its end or its worker's. `meanwhile` happens during its DNS check. */
export async function work(
  history: History,
  alarm: Alarm,
  meanwhile: (() => Promise<void>) | null = null,
): Promise<void> {
  const { system } = history;
  const run = functions[alarm.name];
  const job = domainJob(alarm.job);
  if (run === undefined) throw new Error(`no worker for ${alarm.name}`);
  const ended = await recordRun(history, alarm.name, meanwhile, () => run(system, job));
  system.alarms.settle(alarm, ended.result);
  if (ended.result === 'killed') history.lostAt = system.now();
  expectOfRun(history, alarm, ended);
}

function domainJob(job: AnyJob): DomainJob {
  if ('domainId' in job) return job;
  throw new Error(`no job of a domain: ${JSON.stringify(job)}`);
}
