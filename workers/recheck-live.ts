/**
 * live ⇄ drifted, and checks of domains without a job: a live one at least once an hour, a drifted
 * one more often, a failed one daily for 30 days, which can still verify it.
 * Woken by: a job that repeats every few seconds.
 * Reads: the domains that are due; the DNS.
 * Writes: as check-dns.
 * May run twice: taken domains are leased, and a save succeeds only for the epoch and the attempt
 * that were loaded.
 */
import type { RecordServedCertificate } from '../src/certificates/served/served-certificate.ts';
import type { Diagnosis } from '../src/core/diagnosis/diagnosis.ts';
import type { Observation, Observed } from '../src/core/diagnosis/observation.ts';
import type { LoadedDomain } from '../src/db/domains/domain-row.ts';
import type { DueDomains } from '../src/db/domains/sweeps.ts';
import type { NewEscalation } from '../src/db/issuance/escalations.ts';
import { type CheckDnsDeps, saveCheck } from './check-dns.ts';
import { done, type JobResult } from './running/job.ts';
import { leaseNow, sweep, type UsualLease } from './running/sweep.ts';

export type RecheckLiveDeps = CheckDnsDeps & {
  /** Live, drifted and failed domains whose next check is due. */
  readonly due: DueDomains;
  observe(domain: LoadedDomain): Promise<Observation>;
  /** For a domain whose certificate has expired (workers/escalate-renewal.ts). */
  escalationAtEnd(domain: LoadedDomain, diagnosis: Diagnosis): Promise<NewEscalation | undefined>;
  /** Explains browser warnings and changes no state. */
  readonly recordServedCertificate: RecordServedCertificate;
  /** Other domains continue. */
  onFault(fault: unknown, domainId: string): void;
  readonly atOnce: number;
};

/** One statement takes them all, and a crashed worker delays only these. */
const BATCH = 200;
/** A batch takes seconds. After a crash, its domains are due again. */
const LEASE: UsualLease = { usualMs: 2 * 60_000, leastMs: 20_000 };

/** Until none is due or `stop` is aborted. Rejects if the database or the queue is down. */
export async function recheckLive(deps: RecheckLiveDeps, stop: AbortSignal): Promise<JobResult> {
  const { due, atOnce, onFault } = deps;
  const lease = () => leaseNow(deps, LEASE);
  const work = (id: string) => recheck(deps, id);
  await sweep({ due, lease, work, onFault, batch: BATCH, atOnce }, stop);
  return done;
}

async function recheck(deps: RecheckLiveDeps, id: string): Promise<void> {
  const domain = await deps.load(id);
  if (domain === undefined || !isSettled(domain)) return;
  const { observed, diagnosis } = await check(deps, domain);
  // If another save came first, it has set the next check.
  const escalationAtEnd = () => deps.escalationAtEnd(domain, diagnosis);
  const outcome = await saveCheck(deps, { domain, observed, escalationAtEnd }, diagnosis);
  if (outcome?.to.status === 'live') await deps.recordServedCertificate(domain);
}

function isSettled({ state: { status } }: LoadedDomain): boolean {
  return status === 'live' || status === 'drifted' || status === 'failed';
}

/** Unchanged confirms a success or a miss. A miss of a live domain needs a full observation. */
async function check(
  deps: RecheckLiveDeps,
  domain: LoadedDomain,
): Promise<{ observed: Observed; diagnosis: Diagnosis }> {
  const observed = await deps.observeAgain(domain);
  const diagnosis = await deps.diagnose(domain, observed.observation);
  const isMissOfLive = domain.state.status === 'live' && diagnosis.verdict !== 'right';
  if (observed.kind === 'observed' || !isMissOfLive) return { observed, diagnosis };
  const observation = await deps.observe(domain);
  const full = { kind: 'observed', observation } as const;
  return { observed: full, diagnosis: await deps.diagnose(domain, observation) };
}
