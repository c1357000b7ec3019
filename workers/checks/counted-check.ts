import { isOurTrouble } from '../../src/core/diagnosis/findings.ts';
import type { CheckResult } from '../../src/core/life/check.ts';
import type { LoadedDomain } from '../../src/db/domains/domain-row.ts';
import type { CheckSave } from '../../src/db/domains/transitions.ts';
import type { CountedCheck } from '../../src/ops/metrics/work.ts';

export type SavedCheck = Pick<CheckSave, 'domain' | 'change' | 'at'> & Pick<CheckResult, 'verdict'>;

/** What metrics derive from a check that a worker has saved. */
export function countedCheckOf({ domain, change, at, verdict }: SavedCheck): CountedCheck {
  const changed = change.events.find((event) => event.type === 'domain.findings_changed');
  const isVerified = change.to.status === 'verified' && domain.state.status !== 'verified';
  return {
    verdict,
    isOurTrouble: change.findings.some(isOurTrouble),
    appeared: (changed?.appeared ?? []).map(({ code }) => code),
    unseenSeconds: isVerified ? Math.max(0, (at.getTime() - lastSeen(domain)) / 1_000) : null,
  };
}

/** The later of its last check and the start of the epoch. */
function lastSeen({ state, lastCheckedAt }: LoadedDomain): number {
  const since = state.status === 'pending' ? state.pendingSince.getTime() : 0;
  return Math.max(since, lastCheckedAt?.getTime() ?? since);
}
