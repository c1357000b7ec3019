/**
 * Which CAs do not answer, as seen by this process, so that one order's failure spares the next the
 * wait. In memory only; each process learns it from its own orders.
 */

import { standIn } from '../../core/certificates/choose-authority.ts';
import { MINUTE } from '../../core/time.ts';
import { type CertificateFaultCode, isCertificateFault } from '../fault.ts';
import { authorityOf, type CertificateAuthorities } from './authority.ts';

/**
 * How often a CA that is down is checked before an order, so that it is used again after it
 * recovers.
 */
const ASK_AGAIN_MS = 5 * MINUTE;
/** Failures further apart than this are separate incidents. */
const REMEMBERED_MS = 30 * MINUTE;

/**
 * The result of an attempt. `reached`: answered a free request (`CertificateAuthority.reach`);
 * `answered`: answered an order.
 */
type Outcome = 'answered' | 'reached' | CertificateFaultCode;

/** The state of the CAs, by directory; null is the local one. No method sends requests. */
export type AuthorityHealth = {
  /** Records the result of an attempt or a check, now. */
  note(directoryUrl: string | null, outcome: Outcome): void;
  /**
   * For how many ms orders got no answer, up to the last attempt; 0 if one did or none was tried.
   */
  downForMs(directoryUrl: string | null): number;
  /** When it last answered anything; null: not yet. */
  answeredAt(directoryUrl: string | null): Date | null;
  /**
   * Whether neither an answer nor a failure was recorded for ASK_AGAIN_MS.
   */
  mayAsk(directoryUrl: string | null): boolean;
};

/**
 * In ms since 1970: the first and the last failure of the incident. `isReached`: answered a check
 * since.
 */
type Failing = { readonly since: number; readonly last: number; readonly isReached: boolean };

export type AuthorityHealthDeps = {
  readonly now: () => Date;
  /** Divides all times (TIME_SCALE). */
  readonly timeScale: number;
  /** Called at the start and at the end of each incident. */
  readonly onChange: (directoryUrl: string | null, state: 'down' | 'up') => void;
};

/** Every CA counts as up until a failure is recorded. */
export function createAuthorityHealth(deps: AuthorityHealthDeps): AuthorityHealth {
  const failing = new Map<string | null, Failing>();
  const answered = new Map<string | null, number>();
  const noted = new Map<string | null, number>();
  const { timeScale } = deps;

  function hasFailed(directoryUrl: string | null, at: number): void {
    const before = failing.get(directoryUrl);
    const goesOn = before !== undefined && (isDown(before) || at - before.last < remembered);
    failing.set(directoryUrl, { since: goesOn ? before.since : at, last: at, isReached: false });
    if (before === undefined) deps.onChange(directoryUrl, 'down');
  }
  const remembered = REMEMBERED_MS / timeScale;
  /** Only an answer ends an incident, never time. */
  const isDown = ({ since, last, isReached }: Failing) =>
    !isReached && last - since >= standIn.downMs / timeScale;

  return {
    note(directoryUrl, outcome) {
      const at = deps.now().getTime();
      noted.set(directoryUrl, at);
      // Slow or busy concerns one order and counts as an answer.
      const answers = outcome === 'answered' || outcome === 'order_still_open';
      if (!answers && outcome !== 'reached') return hasFailed(directoryUrl, at);
      answered.set(directoryUrl, at);
      const before = failing.get(directoryUrl);
      if (before === undefined) return;
      // If a CA answers checks but fails orders, the next failure belongs to the same incident.
      if (!answers) return void failing.set(directoryUrl, { ...before, isReached: true });
      failing.delete(directoryUrl);
      deps.onChange(directoryUrl, 'up');
    },
    downForMs(directoryUrl) {
      const { since, last, isReached } = failing.get(directoryUrl) ?? well;
      return isReached ? 0 : last - since;
    },
    answeredAt(directoryUrl) {
      const at = answered.get(directoryUrl);
      return at === undefined ? null : new Date(at);
    },
    mayAsk: (directoryUrl) =>
      deps.now().getTime() - (noted.get(directoryUrl) ?? 0) >= ASK_AGAIN_MS / timeScale,
  };
}

/** A CA without an incident. */
const well: Failing = { since: 0, last: 0, isReached: false };

/**
 * Returns a function that checks whether a CA answers and records it, unless its state was recorded
 * recently. Concurrent calls share one request. Rejects only for errors other than a
 * CertificateFault.
 */
export function createAsk(
  authorities: CertificateAuthorities,
  health: AuthorityHealth,
): (directoryUrl: string | null) => Promise<void> {
  const asking = new Map<string | null, Promise<void>>();

  async function ask(directoryUrl: string | null): Promise<void> {
    try {
      await authorityOf(authorities, { authority: directoryUrl })?.authority.reach();
      health.note(directoryUrl, 'reached');
    } catch (fault) {
      if (!isCertificateFault(fault)) throw fault;
      health.note(directoryUrl, fault.code);
    } finally {
      asking.delete(directoryUrl);
    }
  }

  return async (directoryUrl) => {
    const underWay = asking.get(directoryUrl);
    if (underWay !== undefined) return underWay;
    if (!health.mayAsk(directoryUrl)) return;
    const question = ask(directoryUrl);
    asking.set(directoryUrl, question);
    return question;
  };
}
