/** From when on something is a problem in `/ops`. deploy/prometheus/alerts.yml has the same numbers. */
import type { QueueName } from './jobs.ts';

export const thresholds = {
  /** Since the last run of the reconciler (workers/running/work-times.ts). */
  turnAgeSeconds: 120,
  /** Customers wait for the first three queues. */
  overdueSeconds: {
    'check-dns': 300,
    'issue-certificate': 300,
    'deliver-webhook': 300,
    'escalate-certificate': 3_600,
    'recheck-live': 3_600,
    'renew-certificate': 3_600,
  } satisfies Readonly<Record<QueueName, number>>,
  /** Of the checks of one worker, without a usable answer. */
  unknownShare: 0.5,
  /** Domains that our own resolvers fail: fewer, or a smaller share of many, are broken zones. */
  ofOurResolvers: { atLeast: 5, share: 0.1, inAnyCase: 1_000 },
  /** Domains that one DNS operator's servers fail; fewer are usually customers' mistakes. */
  operatorDomains: 5,
  /** Of what is available. */
  redisMemoryShare: 0.9,
  postgresConnectionsShare: 0.9,
} as const;
