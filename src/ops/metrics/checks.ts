/** What checks found: verdicts, findings that appeared, and for how long a record may have been right unseen. */
import { Counter, Histogram, type Registry } from 'prom-client';
import { type FindingCode, severities } from '../../core/diagnosis/findings.ts';
import type { Verdict } from '../../core/lifecycle.ts';

/** A check that has been saved. */
export type CheckTold = {
  /** `unchanged`: a few questions found what the check before found, and nothing was judged anew. */
  readonly verdict: Verdict | 'unchanged';
  readonly appeared: readonly FindingCode[];
  /** Of one that made the domain verified: seconds since the check before it, or since the domain began to wait. */
  readonly unseenSeconds: number | null;
};

export type CountCheck = (check: CheckTold) => void;

const verdicts = ['right', 'wrong', 'unknown', 'unchanged'] as const;

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
    // The ladder's steps: 5 s while somebody looks, 15 s to 5 min otherwise; beyond them a queue is behind.
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
