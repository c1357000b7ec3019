/**
 * live ⇄ drifted, and checks of domains without a job (`recheckWaits`). A failed domain can still become
 * verified.
 * Woken by: a job that repeats every few seconds.
 * Reads: the domains that are due; the DNS.
 * Writes: as check-dns.
 * May run twice: taken domains are leased, and a save succeeds only for the epoch and the attempt
 * that were loaded.
 */

import type { Diagnosis } from '../src/core/diagnosis/diagnosis.ts';
import type { Observed } from '../src/core/diagnosis/observation.ts';
import { isServed } from '../src/core/life/lifecycle.ts';
import { MINUTE } from '../src/core/time.ts';
import type { LoadedDomain } from '../src/db/domains/domain-row.ts';
import { inSpan } from '../src/net/tracing.ts';
import type { Service } from '../src/service/service.ts';
import { diagnoseDomain, observeAgain, observeDomain } from './checks/observe-domain.ts';
import { saveCheck } from './checks/save-check.ts';
import { escalationAtEnd } from './orders/escalation.ts';
import { done, type JobResult } from './running/job.ts';
import { sweepDue } from './running/sweep.ts';

/** One statement takes them all, and a crashed worker delays only these. */
const batch = 200;
/** A batch takes seconds. After a crash, its domains are due again. */
const lease = { usualMs: 2 * MINUTE, leastMs: 20_000 };
/**
 * Runs beside the checks of pending domains, which take priority. 100,000 live domains are 33 checks
 * per second.
 */
const atOnce = { postgres_redis: 100, postgres: 25, embedded: 25 } as const;

/** Until none is due or `stop` is aborted. Rejects if the database or the queue is down. */
export async function recheckLive(service: Service, stop: AbortSignal): Promise<JobResult> {
  const work = (id: string) => recheck(service, id);
  const { kind } = service.config.storage;
  await sweepDue(service, 'recheck-live', { work, batch, lease, atOnce: atOnce[kind] }, stop);
  return done;
}

async function recheck(service: Service, id: string): Promise<void> {
  const domain = await service.checks.load(id);
  if (domain === undefined || !isSettled(domain)) return;
  const attributes = { 'signpost.domain.id': id };
  const { observed, diagnosis } = await inSpan('recheck-live domain', attributes, () =>
    check(service, domain),
  );
  // If another save came first, it has set the next check.
  const atEnd = () => escalationAtEnd(service, domain, diagnosis);
  const seen = { domain, observed, escalationAtEnd: atEnd };
  const change = await saveCheck(service, seen, diagnosis);
  if (change?.to.status === 'live') await service.handshakes.recordServed(domain);
}

function isSettled({ state }: LoadedDomain): boolean {
  return isServed(state) || state.status === 'failed';
}

/** Unchanged confirms a success or a miss. A miss of a live domain needs a full observation. */
async function check(
  service: Service,
  domain: LoadedDomain,
): Promise<{ observed: Observed; diagnosis: Diagnosis }> {
  const observed = await observeAgain(service, domain);
  const diagnosis = await diagnoseDomain(service, domain, observed.observation);
  const isMissOfLive = domain.state.status === 'live' && diagnosis.verdict !== 'right';
  if (observed.kind === 'observed' || !isMissOfLive) return { observed, diagnosis };
  const observation = await observeDomain(service, domain);
  const full = { kind: 'observed', observation } as const;
  return { observed: full, diagnosis: await diagnoseDomain(service, domain, observation) };
}
