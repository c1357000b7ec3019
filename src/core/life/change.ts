import type { ServedTimes } from '../certificates/renewal.ts';
import type { Finding } from '../diagnosis/findings.ts';
import type { DomainEvent, EscalationEnd } from './events.ts';
import type { DomainState } from './lifecycle.ts';

/** What an occurrence changes, written in one transaction; a `refused` change writes nothing. */
export type DomainChange = {
  /** `stayed`: same status, though times can differ. */
  readonly kind: 'moved' | 'stayed' | 'refused';
  readonly to: DomainState;
  /** `next` fences off the jobs of the current epoch. */
  readonly epoch: 'same' | 'next';
  /** `reset`: zero, for a new window. */
  readonly attempts: 'counted' | 'same' | 'reset';
  /** The headline first. */
  readonly findings: readonly Finding[];
  readonly events: readonly DomainEvent[];
  readonly nextCheckAt: Date | null;
  /** When a sweep, not its own job, checks it next. */
  readonly recheckAt: Date | null;
  /** When an operator is notified unless a certificate is issued. */
  readonly escalateAt: Date | null;
  /** Null: the served certificate is unchanged. */
  readonly served: ServedTimes | null;
  /** Why its open escalation ends. */
  readonly closes: EscalationEnd | null;
  readonly isRemoved: boolean;
};
