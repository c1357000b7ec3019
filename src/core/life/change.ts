/** The changes to a domain that result from an occurrence, written in one transaction. */
import type { ServedTimes } from '../certificates/plan.ts';
import type { Finding } from '../diagnosis/findings.ts';
import type { DomainEvent, EscalationEnd } from './events.ts';
import type { DomainState } from './lifecycle.ts';

/** Written as a whole in one transaction; a `refused` change writes nothing. */
export type DomainChange = {
  /** `stayed`: same status, though times may differ. `refused`: nothing changes. */
  readonly kind: 'moved' | 'stayed' | 'refused';
  /** The new state. */
  readonly to: DomainState;
  /** `next`: fences off the jobs of the current epoch. */
  readonly epoch: 'same' | 'next';
  /** How the number of checks changes: one more, unchanged, or zero for a new window. */
  readonly attempts: 'counted' | 'same' | 'reset';
  /** All current findings, the headline first. */
  readonly findings: readonly Finding[];
  /** In the order in which they are recorded. */
  readonly events: readonly DomainEvent[];
  /** When its job is due; null: it has none. */
  readonly nextCheckAt: Date | null;
  /** When a sweep checks it next; null: never. */
  readonly recheckAt: Date | null;
  /** When an operator is notified unless a certificate is issued; null: never. */
  readonly escalateAt: Date | null;
  /** The times of the certificate served from now on; null: unchanged. */
  readonly served: ServedTimes | null;
  /** Why its open escalation ends; null: it stays open. */
  readonly closes: EscalationEnd | null;
  /** Whether the domain is removed from its project. */
  readonly isRemoved: boolean;
};
