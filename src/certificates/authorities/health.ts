/**
 * Which authorities give no answer, as this process met them: what one order found out, the next one need not wait for.
 * Kept in memory only, so each process finds it out by its own first order.
 */

import { standIn } from '../../core/certificates/choose-authority.ts';
import { scaleOf } from '../../core/life/ladder.ts';
import { MINUTE } from '../../core/time.ts';
import { type CertificateFaultCode, isCertificateFault } from '../fault.ts';
import { type Authorities, authorityOf } from './authority.ts';

/**
 * An authority that is down is asked again this often before an order, so that it is used again once it is back. Our
 * choice.
 */
const ASK_AGAIN_MS = 5 * MINUTE;
/** Two failures of one that is not down are two incidents where they are further apart. Our choice. */
const REMEMBERED_MS = 30 * MINUTE;

/**
 * What came of an attempt. `reached`: it answered a question that costs nothing (`CertificateAuthority.reach`);
 * `answered`: an order.
 */
export type Outcome = 'answered' | 'reached' | CertificateFaultCode;

/** What this process knows of its authorities, by directory; null is the local one. No call asks anybody. */
export type AuthorityHealth = {
  /** Notes what became of an attempt, or of a question, now. */
  note(directoryUrl: string | null, outcome: Outcome): void;
  /** For how many ms no order got an answer, up to the last try; 0 once there was one, and while nobody has tried. */
  downForMs(directoryUrl: string | null): number;
  /** When it last answered, whatever it was asked; null: not yet. */
  answeredAt(directoryUrl: string | null): Date | null;
  /** Whether nothing was noted for 5 minutes, neither an answer nor a failure. A laboratory's window shortens them. */
  mayAsk(directoryUrl: string | null): boolean;
};

/** In ms since 1970: the first and the last failure of the incident. `isReached`: it has answered a question since. */
type Failing = { readonly since: number; readonly last: number; readonly isReached: boolean };

/** A clock, and whoever is called about changes. */
export type AuthorityHealthDeps = {
  readonly now: () => Date;
  /** A short window (laboratories) shortens all times in proportion. */
  readonly windowMs: number;
  /** Called once for each incident, and once at its end. */
  readonly onChange: (directoryUrl: string | null, state: 'down' | 'up') => void;
};

/** Returns a health under which every authority is up until a failure is noted. */
export function createAuthorityHealth(deps: AuthorityHealthDeps): AuthorityHealth {
  const failing = new Map<string | null, Failing>();
  const answered = new Map<string | null, number>();
  const noted = new Map<string | null, number>();
  const scale = scaleOf(deps.windowMs);

  function hasFailed(directoryUrl: string | null, at: number): void {
    const before = failing.get(directoryUrl);
    const goesOn = before !== undefined && (isDown(before) || at - before.last < remembered);
    failing.set(directoryUrl, { since: goesOn ? before.since : at, last: at, isReached: false });
    if (before === undefined) deps.onChange(directoryUrl, 'down');
  }
  const remembered = REMEMBERED_MS * scale;
  /** An incident ends with an answer only; time alone does not end it. */
  const isDown = ({ since, last, isReached }: Failing) =>
    !isReached && last - since >= standIn.downMs * scale;

  return {
    note(directoryUrl, outcome) {
      const at = deps.now().getTime();
      noted.set(directoryUrl, at);
      // Slow, or busy: that is about one order, and an answer.
      const answers = outcome === 'answered' || outcome === 'order_still_open';
      if (!answers && outcome !== 'reached') return hasFailed(directoryUrl, at);
      answered.set(directoryUrl, at);
      const before = failing.get(directoryUrl);
      if (before === undefined) return;
      // Of an authority that answers questions and fails orders the next failure is no new incident.
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
      deps.now().getTime() - (noted.get(directoryUrl) ?? 0) >= ASK_AGAIN_MS * scale,
  };
}

/** Stands for an authority without an incident. */
const well: Failing = { since: 0, last: 0, isReached: false };

/**
 * Returns a function that asks an authority whether it answers at all, and notes it, where nothing is known for 5
 * minutes; else it resolves at once. Calls at the same time share one question. Rejects only for what is no
 * CertificateFault.
 */
export function createAsk(
  authorities: Authorities,
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
