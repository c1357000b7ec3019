import { Counter, Histogram, type Registry } from 'prom-client';
import { type FindingCode, severities } from '../../core/diagnosis/findings.ts';
import type { CheckResult } from '../../core/life/check.ts';
import { type QueueName, queueNames } from '../../core/operations/jobs.ts';

const outcomes = ['done', 'again', 'over', 'fault', 'outage', 'quarantined'] as const;
/** `fault`, `outage` and `quarantined` are errors; the others are regular results. */
export type JobOutcome = (typeof outcomes)[number];

export type CountJob = (queue: QueueName, outcome: JobOutcome, seconds: number) => void;

/** Every queue and outcome starts at 0. */
export function createJobMetrics(registry: Registry): CountJob {
  const registers = [registry];
  const jobs = new Counter({
    name: 'signpost_jobs_total',
    help: 'Finished attempts of jobs, by queue and outcome: done (also a failed delivery that another job retries), again (waits for its next run), over; fault, outage and quarantined are errors',
    labelNames: ['queue', 'outcome'],
    registers,
  });
  const durations = new Histogram({
    name: 'signpost_job_duration_seconds',
    help: 'Duration of an attempt of a job, by queue',
    labelNames: ['queue'],
    buckets: [0.01, 0.05, 0.2, 1, 5, 15, 60],
    registers,
  });
  for (const queue of queueNames) {
    for (const outcome of outcomes) jobs.inc({ queue, outcome }, 0);
  }
  return (queue, outcome, seconds) => {
    jobs.inc({ queue, outcome });
    durations.observe({ queue }, seconds);
  };
}

export function createOrderMetrics(registry: Registry) {
  const registers = [registry];
  const orders = new Counter({
    name: 'signpost_certificate_orders_total',
    help: 'Certificate orders by outcome: issued and refused end an order, set_back leaves it open for a retry',
    labelNames: ['outcome'],
    registers,
  });
  const waits = new Histogram({
    name: 'signpost_certificate_wait_seconds',
    help: 'Time from the check that verified a domain to its first stored certificate',
    buckets: [1, 5, 15, 60, 300, 1_800, 7_200, 86_400],
    registers,
  });
  for (const outcome of ['issued', 'refused', 'set_back']) orders.inc({ outcome }, 0);
  return {
    /** Seconds since the check that verified the domain; null for a renewal. */
    issued(waitedSeconds: number | null): void {
      orders.inc({ outcome: 'issued' });
      if (waitedSeconds !== null) waits.observe(waitedSeconds);
    },
    /** The CA refused: the order ended. */
    refused: () => orders.inc({ outcome: 'refused' }),
    /** The CA could not be reached or had not finished: the order stays open. */
    setBack: () => orders.inc({ outcome: 'set_back' }),
  };
}

export type OrderCounters = ReturnType<typeof createOrderMetrics>;

export type CountedCheck = {
  /** `unchanged`: a few queries found the same as the previous check, so nothing was diagnosed. */
  readonly verdict: CheckResult['verdict'];
  readonly isOurTrouble: boolean;
  readonly appeared: readonly FindingCode[];
  /** If this check verified the domain: seconds since the previous one or the start of waiting. */
  readonly unseenSeconds: number | null;
};

export type CountCheck = (check: CountedCheck) => void;

const verdicts = ['right', 'wrong', 'unknown', 'unchanged'] as const;

/** Every verdict and finding starts at 0. */
export function createCheckMetrics(registry: Registry): CountCheck {
  const registers = [registry];
  const checks = new Counter({
    name: 'signpost_checks_total',
    help: 'Saved checks of domains, by verdict: right, wrong, unknown; unchanged repeats the previous result',
    labelNames: ['verdict'],
    registers,
  });
  const findings = new Counter({
    name: 'signpost_findings_appeared_total',
    help: 'Findings that the previous check did not have, by code',
    labelNames: ['code'],
    registers,
  });
  const unseen = new Histogram({
    name: 'signpost_verification_unseen_seconds',
    help: 'For each verified domain, the time since the previous check: an upper bound for how long its correct record was unnoticed',
    // The checks' intervals: 5 s to 5 min. Longer times mean that a queue is behind.
    buckets: [5, 15, 30, 60, 120, 300, 600, 3_600],
    registers,
  });
  for (const verdict of verdicts) checks.inc({ verdict }, 0);
  for (const code of Object.keys(severities)) findings.inc({ code }, 0);
  return ({ verdict, appeared, unseenSeconds }) => {
    checks.inc({ verdict });
    for (const code of appeared) findings.inc({ code });
    if (unseenSeconds !== null) unseen.observe(unseenSeconds);
  };
}
