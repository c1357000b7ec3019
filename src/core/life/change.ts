/** What comes of an occurrence: everything that becomes another about a domain, for one transaction to write. */
import type { ServedTimes } from '../certificates/plan.ts';
import type { Finding } from '../diagnosis/findings.ts';
import type { Arrival } from '../names/claim.ts';
import type { DomainEvent, EscalationEnd } from './events.ts';
import type { DomainState } from './lifecycle.ts';

/** What one occurrence does to a domain, written as a whole in one transaction; of a `refused` one nothing is. */
export type Change = {
  /** `stayed`: its state is the same, if not its times. `refused`: nothing becomes another. */
  readonly kind: 'moved' | 'stayed' | 'refused';
  /** The state from now on. */
  readonly to: DomainState;
  /** `next`: jobs of the epoch that ends change nothing any more. */
  readonly epoch: 'same' | 'next';
  /** The checks that ran: one more, or none yet of a window that begins. */
  readonly attempts: 'counted' | 'same' | 'reset';
  /** All that hold from now on, the headline first. */
  readonly findings: readonly Finding[];
  /** How our addresses came to the name, as its claim knows from now on; null: not yet. */
  readonly arrival: Arrival | null;
  /** In the order in which they are recorded. */
  readonly events: readonly DomainEvent[];
  /** When its job is due; null: it has none. */
  readonly nextCheckAt: Date | null;
  /** When a batch checks it next; null: no batch does. */
  readonly recheckAt: Date | null;
  /** When an operator is notified unless a certificate comes; null: not at all. */
  readonly escalateAt: Date | null;
  /** Of the certificate that it is served with from now on; null: no other one than before. */
  readonly served: ServedTimes | null;
  /** Why its open escalation ends; null: it stays open. */
  readonly closes: EscalationEnd | null;
  /** Whether the domain is taken out of its project. */
  readonly isRemoved: boolean;
};
