/**
 * Which authorities give no answer, as this process met them: what one order found out, the next one need not wait for.
 * Kept in memory: a process that has not met it yet learns it from its own first order.
 */

import { standIn } from '../../core/certificates/choose-authority.ts';
import { scaleOf } from '../../core/life/ladder.ts';
import { MINUTE } from '../../core/time.ts';
import { type CertificateFaultCode, isCertificateFault } from '../fault.ts';
import { type Authorities, authorityOf } from './authority.ts';

/** Our choice: an authority that is down is asked again this often, before an order, so that it is used again once it is back. */
const ASK_AGAIN_MS = 5 * MINUTE;
/** Our choice: two failures of one that is not down are two incidents where they are further apart. */
const REMEMBERED_MS = 30 * MINUTE;

/** `reached`: it answered a question that costs nothing (`CertificateAuthority.reach`); `answered`: an order. */
export type Outcome = 'answered' | 'reached' | CertificateFaultCode;

export type AuthorityHealth = {
  /** What became of an attempt, or of a question. */
  note(directoryUrl: string | null, outcome: Outcome): void;
  /** For how long no order got an answer, up to the last one; 0 once there was any, and while nobody has tried. */
  downForMs(directoryUrl: string | null): number;
  /** When it last answered, whatever it was asked; null: not yet. */
  answeredAt(directoryUrl: string | null): Date | null;
  /** Whether nothing has been heard of it for 5 minutes, neither an answer nor a failure. */
  mayAsk(directoryUrl: string | null): boolean;
};

type Failing = { readonly since: number; readonly last: number; readonly isReached: boolean };

export type AuthorityHealthDeps = {
  readonly now: () => Date;
  /** A laboratory's shortens the times. */
  readonly windowMs: number;
  /** Told once for each incident, and once at its end. */
  readonly onChange: (directoryUrl: string | null, state: 'down' | 'up') => void;
};

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
  /** Time alone makes nobody well. */
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

const well: Failing = { since: 0, last: 0, isReached: false };

/**
 * Asks an authority whether it answers at all, where that is not known for 5 minutes: before it gets an order, and in place
 * of one. However many want to know, it is asked once.
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
