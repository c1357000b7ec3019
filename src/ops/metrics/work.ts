/** Attempts of jobs, by queue. */
import { Counter, Histogram, type Registry } from 'prom-client';
import { type FindingCode, severities } from '../../core/diagnosis/findings.ts';
import type { Verdict } from '../../core/life/lifecycle.ts';
import { type QueueName, queueNames } from '../../core/operations/jobs.ts';

const outcomes = ['done', 'again', 'over', 'fault', 'outage', 'set_aside'] as const;
/** `fault`, `outage` and `set_aside` are what went wrong; the others are how jobs end. */
export type JobOutcome = (typeof outcomes)[number];

/** Counts one attempt of a job, and how long it took. */
export type CountJob = (queue: QueueName, outcome: JobOutcome, seconds: number) => void;

/** Registers the metrics of jobs and returns what counts them. Every queue and outcome begins at 0. */
export function createJobMetrics(registry: Registry): CountJob {
  const registers = [registry];
  const jobs = new Counter({
    name: 'signpost_jobs_total',
    help: 'Attempts of jobs that came to an end, by queue and outcome: again waits for its next time; fault, outage and set_aside are what went wrong',
    labelNames: ['queue', 'outcome'],
    registers,
  });
  const durations = new Histogram({
    name: 'signpost_job_duration_seconds',
    help: 'How long an attempt of a job took, by queue',
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

/** Counts what became of certificate orders. */
export type OrderCounters = {
  /**
   * `waitedSeconds`: since the check that verified the domain, where it waited for its first certificate; null for a
   * renewal.
   */
  issued(waitedSeconds: number | null): void;
  /** The authority refused: the order is over. */
  refused(): void;
  /** The authority could not be asked, or had not finished: the order stays open. */
  setBack(): void;
};

/** Registers the metrics of orders and returns what counts them. */
export function createOrderMetrics(registry: Registry): OrderCounters {
  const registers = [registry];
  const orders = new Counter({
    name: 'signpost_certificate_orders_total',
    help: 'Orders by outcome: issued and refused end an order, set_back leaves it open for another try',
    labelNames: ['outcome'],
    registers,
  });
  const waits = new Histogram({
    name: 'signpost_certificate_wait_seconds',
    help: 'For each domain that waited for its certificate, the time from the check that verified it to the stored certificate',
    buckets: [1, 5, 15, 60, 300, 1_800, 7_200, 86_400],
    registers,
  });
  for (const outcome of ['issued', 'refused', 'set_back']) orders.inc({ outcome }, 0);
  return {
    issued(waitedSeconds) {
      orders.inc({ outcome: 'issued' });
      if (waitedSeconds !== null) waits.observe(waitedSeconds);
    },
    refused: () => orders.inc({ outcome: 'refused' }),
    setBack: () => orders.inc({ outcome: 'set_back' }),
  };
}

/** A check that has been saved. */
export type CountedCheck = {
  /** `unchanged`: a few questions found what the check before found, and nothing was diagnosed. */
  readonly verdict: Verdict | 'unchanged';
  /** Findings that the check before did not have. */
  readonly appeared: readonly FindingCode[];
  /** Of one that made the domain verified: seconds since the check before it, or since the domain began to wait. */
  readonly unseenSeconds: number | null;
};

/** Counts one check that has been saved. */
export type CountCheck = (check: CountedCheck) => void;

const verdicts = ['right', 'wrong', 'unknown', 'unchanged'] as const;

/** Registers the metrics of checks and returns what counts them. Every verdict and finding begins at 0. */
export function createCheckMetrics(registry: Registry): CountCheck {
  const registers = [registry];
  const checks = new Counter({
    name: 'signpost_checks_total',
    help: 'Checks of domains that were saved, by verdict',
    labelNames: ['verdict'],
    registers,
  });
  const findings = new Counter({
    name: 'signpost_findings_appeared_total',
    help: 'Findings that a check had and the one before it had not, by code',
    labelNames: ['code'],
    registers,
  });
  const unseen = new Histogram({
    name: 'signpost_verification_unseen_seconds',
    help: 'For each domain that became verified, the time since the check before it: its record was right for so long at most before it was seen',
    // The ladder's steps: 5 s while somebody watches, 15 s to 5 min otherwise; beyond them a queue is behind.
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
