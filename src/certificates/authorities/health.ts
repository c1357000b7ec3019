/** Remembers in memory which CAs do not answer, so that the next order does not wait for them. */

import { standIn } from '../../core/certificates/choose-authority.ts';
import { MINUTE } from '../../core/time.ts';
import { createSingleFlight } from '../../net/load-once.ts';
import { type CertificateFaultCode, isCertificateFault } from '../fault.ts';
import { authorityOf, type CertificateAuthorities } from './authority.ts';

/** How often a CA that is down is checked before an order. */
const ASK_AGAIN_MS = 5 * MINUTE;
/** Failures further apart than this are separate incidents. */
const FAILURE_REMEMBERED_MS = 30 * MINUTE;

/** `reached`: answered a free request; `answered`: answered an order. */
type Outcome = 'answered' | 'reached' | CertificateFaultCode;

/** By directory; null is the local CA. Sends no requests. */
export type AuthorityHealth = {
  note(directoryUrl: string | null, outcome: Outcome): void;
  /** For how long orders got no answer, up to the last attempt; 0 if one did or none was tried. */
  downForMs(directoryUrl: string | null): number;
  /** When it last answered anything; null: not yet. */
  answeredAt(directoryUrl: string | null): Date | null;
  /** Whether neither an answer nor a failure was recorded for ASK_AGAIN_MS. */
  mayAsk(directoryUrl: string | null): boolean;
};

/** First and last failure, in ms since 1970. `isReached`: answered a check since. */
type Failing = { readonly since: number; readonly last: number; readonly isReached: boolean };

export type AuthorityHealthDeps = {
  readonly now: () => Date;
  /** Divides all times (TIME_SCALE). */
  readonly timeScale: number;
  /** Called at the start and at the end of each incident. */
  readonly onChange: (directoryUrl: string | null, state: 'down' | 'up') => void;
};

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
  const remembered = FAILURE_REMEMBERED_MS / timeScale;
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

const well: Failing = { since: 0, last: 0, isReached: false };

/** Concurrent calls share one request. Rejects only for errors other than a CertificateFault. */
export function createAsk(
  authorities: CertificateAuthorities,
  health: AuthorityHealth,
): (directoryUrl: string | null) => Promise<void> {
  const share = createSingleFlight<void>();

  async function ask(directoryUrl: string | null): Promise<void> {
    try {
      await authorityOf(authorities, { authority: directoryUrl })?.authority.reach();
      health.note(directoryUrl, 'reached');
    } catch (fault) {
      if (!isCertificateFault(fault)) throw fault;
      health.note(directoryUrl, fault.code);
    }
  }

  return async (directoryUrl) => {
    if (!health.mayAsk(directoryUrl)) return;
    await share(directoryUrl ?? '', () => ask(directoryUrl));
  };
}
