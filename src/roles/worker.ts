/** The worker role: what every queue's worker is handed, and its start. */
import { setTimeout as wait } from 'node:timers/promises';
import { deliverWebhook } from '../../workers/deliver-webhook.ts';
import { createRelay } from '../../workers/relay-deliveries.ts';
import { startWorkers, type WorkerDeps } from '../../workers/start.ts';
import { scaleOf } from '../core/life/ladder.ts';
import { createQuarantineStore } from '../db/domains/quarantine.ts';
import { createRepairStore } from '../db/domains/waiting.ts';
import { clockSkewMs } from '../db/engine/client.ts';
import { earlierOf, observeDomain } from './checks.ts';
import type { Closing } from './closing.ts';
import { escalateDeps, issueDeps } from './orders.ts';
import type { Parts } from './parts.ts';
import { sweeps } from './sweeps.ts';
import { deliverDeps, relayDeps } from './webhooks.ts';

/** However short a laboratory's window: each turn costs the queue and the database some milliseconds. */
const SWEEP_MS_MIN = 1_000;

/** The functions that the workers are handed. */
export function composeWorkers(parts: Parts): WorkerDeps {
  const { backend, queues, waiting, log, now, config } = parts;
  const quarantine = createQuarantineStore(parts.database.prisma);
  const waitScale = scaleOf(config.verifyWindowMs);
  const sweepEveryMs = {
    'recheck-live': Math.max(SWEEP_MS_MIN, 10_000 * waitScale),
    'renew-certificate': Math.max(SWEEP_MS_MIN, 60_000 * waitScale),
  };
  const issue = issueDeps(parts);
  const escalate = escalateDeps(parts, issue);
  return {
    backend,
    log,
    ...(parts.metrics && { count: parts.metrics.job }),
    now,
    // The embedded one has no clock but ours.
    ...(config.storage.kind !== 'embedded' && {
      clockSkewMs: () => clockSkewMs(parts.database.pool),
    }),
    quarantine,
    waitScale,
    checkDns: {
      ...issue,
      load: parts.checks.load,
      observe: (domain) => observeDomain(parts, domain, earlierOf(parts, domain)),
    },
    issueCertificate: issue,
    escalateCertificate: escalate,
    ...sweeps(parts, issue, escalate),
    ...deliveries(parts),
    sweepEveryMs,
    reconcile: {
      waiting,
      queues,
      quarantine,
      repairs: createRepairStore(parts.database.prisma),
      now,
      sweepEveryMs,
      pause: (ms) => wait(ms),
    },
    // A check waits for the network most of the time; many at once travel to the database together. A queue in
    // PostgreSQL is slower than that, whatever the number.
    checksAtOnce: config.storage.kind === 'postgres_redis' ? 500 : 50,
    // A laboratory's short window makes everything quicker, the repairs too.
    reconcileEveryMs: Math.min(20_000, Math.max(1_000, config.verifyWindowMs / 200)),
  };
}

/** Webhooks. */
function deliveries(parts: Parts): Pick<WorkerDeps, 'deliverWebhook' | 'relayDeliveries'> {
  const deps = deliverDeps(parts);
  return {
    deliverWebhook: (delivery) => deliverWebhook(deps, delivery),
    relayDeliveries: createRelay(relayDeps(parts)),
  };
}

/** Starts the workers of every queue, the timers and the reconciler. */
export async function startWork(parts: Parts, closings: Closing[]): Promise<void> {
  const workers = startWorkers(composeWorkers(parts));
  closings.push((deadlineMs) => workers.close(deadlineMs));
}
