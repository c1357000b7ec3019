/** Deliveries to webhooks: what an answer means, when the next attempt is, and when a receiver is given up. */

import { scaleOf, spreadOf } from '../life/ladder.ts';
import { DAY, HOUR, MINUTE, SECOND } from '../time.ts';

/**
 * The wait after each attempt but the last, in milliseconds. The schedule of the Standard Webhooks specification
 * ("Deliverability and reliability") as far as 10 hours, and 10 once more: 8 attempts over 27.6 h, a night's outage and the
 * morning after it.
 */
export const attemptWaitsMs = [
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  10 * HOUR,
] as const;
/** Attempts of one delivery in all, the first included. */
export const ATTEMPTS_MAX = attemptWaitsMs.length + 1;

/** Our choice: a receiver that asks for longer is asked again after a day. */
const RETRY_AFTER_MS_MAX = DAY;
/** No wait is shorter than this, however short a laboratory makes the window. */
const FLOOR_MS = 250;

/** After a rotation both secrets sign for so long: a day to change the receiver. */
export const OLD_SECRET_MS = DAY;
/** A webhook none of whose deliveries has arrived for so long is switched off. */
export const FAILING_MS = 5 * DAY;

/**
 * Why an attempt did not deliver; nothing else of what the receiver said is kept. `name_not_resolved`: the host name has no
 * address; `name_not_told`: nobody could say. `address_refused`, `url_refused`: we do not go there (src/net/destination.ts).
 */
export type AttemptProblem =
  | 'not_accepted'
  | 'redirected'
  | 'gone'
  | 'timed_out'
  | 'connection_failed'
  | 'tls_failed'
  | 'name_not_resolved'
  | 'name_not_told'
  | 'address_refused'
  | 'url_refused';

/** Why a delivery ended without another attempt: what became of its webhook, or another took its place. */
export type EndProblem = 'webhook_deleted' | 'webhook_disabled' | 'replayed';
/** Why a delivery has not arrived, so far or for good. */
export type DeliveryProblem = AttemptProblem | EndProblem;

/** Why a webhook is switched off: somebody asked, its receiver said 410, or nothing arrived for days. */
export type DisabledReason = 'requested' | 'gone' | 'failing';

/** What came of one attempt. */
export type Answer =
  /** `retryAfter`: the header as it came. */
  | { readonly kind: 'answered'; readonly status: number; readonly retryAfter: string | null }
  | {
      readonly kind: 'unanswered';
      readonly problem: Exclude<AttemptProblem, 'not_accepted' | 'redirected' | 'gone'>;
    };

/** What becomes of the delivery. `httpStatus`: null without an answer. `disables`: its webhook is switched off, too. */
export type Verdict =
  | { readonly kind: 'delivered'; readonly httpStatus: number }
  | (Missed & { readonly kind: 'again'; readonly at: Date })
  | (Missed & { readonly kind: 'failed'; readonly disables: 'gone' | 'failing' | null });
type Missed = { readonly httpStatus: number | null; readonly problem: AttemptProblem };

/** One attempt, and what its consequences depend on. */
export type AttemptMade = {
  readonly answer: Answer;
  /** Attempts before this one. */
  readonly attempts: number;
  /** The first attempt that failed since one arrived, or since the webhook is on; null where none has. */
  readonly failingSince: Date | null;
  readonly now: Date;
  /** VERIFY_WINDOW; a laboratory's short one shortens the waits. */
  readonly windowMs: number;
  /** 0 to 1, drawn by the caller. */
  readonly jitter: number;
};

/**
 * Decides what comes of one attempt. Delivered is any 2xx; a 410 ends the delivery and switches the webhook off; anything
 * else is tried again until `ATTEMPTS_MAX`. A window shorter than 48 h (a laboratory's) shortens every wait of the ladder by
 * the same factor.
 */
export function decideAttempt(made: AttemptMade): Verdict {
  const { answer, attempts, now } = made;
  if (answer.kind === 'answered' && isSuccess(answer.status)) {
    return { kind: 'delivered', httpStatus: answer.status };
  }
  const missed = missedBy(answer);
  // "Sender should disable the webhook endpoint, and stop sending it messages": Standard Webhooks on 410.
  if (missed.problem === 'gone') return { ...missed, kind: 'failed', disables: 'gone' };
  const waitMs = attemptWaitsMs[attempts];
  if (waitMs === undefined) return { ...missed, kind: 'failed', disables: givesUp(made) };
  const scaled = waitMs * scaleOf(made.windowMs) * spreadOf(made.jitter);
  const wait = Math.max(FLOOR_MS, scaled, askedWaitMs(answer, now));
  return { ...missed, kind: 'again', at: new Date(Math.round(now.getTime() + wait)) };
}

function isSuccess(status: number): boolean {
  return status >= 200 && status <= 299;
}

function missedBy(answer: Answer): Missed {
  if (answer.kind === 'unanswered') return { httpStatus: null, problem: answer.problem };
  const { status } = answer;
  if (status === 410) return { httpStatus: status, problem: 'gone' };
  const redirected = status >= 300 && status <= 399;
  return { httpStatus: status, problem: redirected ? 'redirected' : 'not_accepted' };
}

/** Called once no attempt is left, so a delivery that may still arrive never switches its webhook off. */
function givesUp({ failingSince, now }: AttemptMade): 'failing' | null {
  if (failingSince === null) return null;
  return now.getTime() - failingSince.getTime() >= FAILING_MS ? 'failing' : null;
}

/** How long a receiver that is busy asks to be left alone (RFC 9110, 10.2.3; RFC 6585, 4); 0 where it does not. */
function askedWaitMs(answer: Answer, now: Date): number {
  if (answer.kind !== 'answered' || answer.retryAfter === null) return 0;
  if (answer.status !== 429 && answer.status !== 503) return 0;
  const text = answer.retryAfter.trim();
  const ms = /^\d+$/.test(text) ? Number(text) * SECOND : new Date(text).getTime() - now.getTime();
  return Number.isNaN(ms) ? 0 : Math.min(RETRY_AFTER_MS_MAX, Math.max(0, ms));
}
