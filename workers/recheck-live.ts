/**
 * live ⇄ drifted, and what a check finds at domains that wait for nothing: a live one at least once an hour, a drifted
 * one closer together, a failed one once a day for 30 days, after which it may be verified all the same.
 * Woken by: a job that comes again every few seconds. Reads: what is due; the DNS. Writes: as check-dns does.
 * May run twice: what is taken is leased, and a save holds only for the epoch and the attempt that were loaded.
 */
import type { RecordServedCertificate } from '../src/certificates/served/served-certificate.ts';
import type { Diagnosis } from '../src/core/diagnosis/diagnosis.ts';
import type { Observation } from '../src/core/diagnosis/observation.ts';
import type { LoadedDomain } from '../src/db/domains/domain-row.ts';
import type { DueDomains } from '../src/db/domains/sweeps.ts';
import type { NewEscalation } from '../src/db/issuance/escalations.ts';
import { type CheckDnsDeps, saveCheck } from './check-dns.ts';
import { done, type JobResult } from './running/job.ts';
import { leaseNow, sweep, type UsualLease } from './running/sweep.ts';
import type { WarnHolder } from './warn-holder.ts';

/** What these checks need of the process that they run in. */
export type RecheckLiveDeps = CheckDnsDeps & {
  /** Live, drifted and failed domains whose next check is due. */
  readonly due: DueDomains;
  /** Makes a full observation, whatever was loaded. */
  observeInFull(domain: LoadedDomain): Promise<Observation>;
  /** The escalation of a domain whose certificate has expired (workers/escalate-renewal.ts). */
  escalationAtEnd(domain: LoadedDomain, diagnosis: Diagnosis): Promise<NewEscalation | undefined>;
  /** What visitors are shown explains a warning, and moves nothing. */
  readonly recordServedCertificate: RecordServedCertificate;
  /** Adds what others do about a name that is served here. */
  readonly warnHolder: WarnHolder;
  /** Called with a fault at one domain, which stops no other. */
  onFault(fault: unknown, domainId: string): void;
  /** How many domains are checked at a time. */
  readonly atOnce: number;
};

/** Some hundreds: one statement takes them, and a worker that is killed delays no more than these. */
const BATCH = 200;
/** A batch takes seconds; what a dead worker took is due again after this. */
const LEASE: UsualLease = { usualMs: 2 * 60_000, leastMs: 20_000 };

/**
 * Checks every live, drifted and failed domain that is due, until none is or `stop` is aborted; a check under way is
 * finished. Rejects where the database or the queue is away.
 */
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
  const { observation, diagnosis } = await check(deps, domain);
  // Where somebody saved first, their save has also said when the next check is.
  const escalationAtEnd = () => deps.escalationAtEnd(domain, diagnosis);
  const findings = await deps.warnHolder(domain, observation, diagnosis.findings);
  const result = { ...diagnosis, findings };
  const outcome = await saveCheck(deps, { domain, observation, escalationAtEnd }, result);
  if (outcome?.to.status === 'live') await deps.recordServedCertificate(domain);
}

function isSettled({ state: { status } }: LoadedDomain): boolean {
  return status === 'live' || status === 'drifted' || status === 'failed';
}

/**
 * Diagnoses every time, also where nothing has changed: what was right is right again, and what missed misses again. But
 * a miss of a live domain is never decided by a light check.
 */
async function check(
  deps: RecheckLiveDeps,
  domain: LoadedDomain,
): Promise<{ observation: Observation; diagnosis: Diagnosis }> {
  const seen = await deps.observe(domain);
  const diagnosis = await deps.diagnose(domain, seen);
  const wasCheap = seen === domain.observation;
  if (!wasCheap || domain.state.status !== 'live' || diagnosis.verdict === 'right') {
    return { observation: seen, diagnosis };
  }
  const observation = await deps.observeInFull(domain);
  return { observation, diagnosis: await deps.diagnose(domain, observation) };
}
