/** Attempts of jobs, by queue. */
import { Counter, Histogram, type Registry } from 'prom-client';
import { type QueueName, queueNames } from '../../core/jobs.ts';

const outcomes = ['done', 'again', 'over', 'fault', 'outage', 'set_aside'] as const;
export type JobOutcome = (typeof outcomes)[number];

export type CountJob = (queue: QueueName, outcome: JobOutcome, seconds: number) => void;

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
