/** Webhook deliveries: what a response means, when to retry, and when to disable the webhook. */

import { spreadOf } from '../life/ladder.ts';
import { DAY, HOUR, MINUTE, SECOND } from '../time.ts';

/**
 * The wait after each attempt but the last, in milliseconds. Follows the Standard Webhooks
 * specification ("Deliverability and reliability") up to 10 hours, then 10 once more: 8 attempts
 * over 27.6 h cover an outage overnight.
 */
export const deliveryWaitsMs = [
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  10 * HOUR,
] as const;

/** Longer values of Retry-After are cut to a day. */
const RETRY_AFTER_MS_MAX = DAY;
/** Minimum wait, whatever TIME_SCALE is. */
const FLOOR_MS = 250;

/** After a rotation both secrets sign for this long, so the receiver can be updated. */
export const OLD_SECRET_MS = DAY;
/** A webhook without a successful delivery for this long is disabled. */
export const FAILING_MS = 5 * DAY;

/**
 * Why an attempt failed; nothing else of the response is stored. `name_not_resolved`: the host name
 * has no address. `name_not_told`: the DNS query failed. `address_refused`, `url_refused`: not an
 * allowed destination (src/net/destination.ts).
 */
type AttemptProblem =
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

/** Why a delivery ended without another attempt. */
export type EndProblem = 'webhook_deleted' | 'webhook_disabled' | 'replayed';
/** Why a delivery has not succeeded. */
export type DeliveryProblem = AttemptProblem | EndProblem;

/**
 * Why a webhook is disabled: on request, after a 410, or after days without a successful delivery.
 */
export type DisabledReason = 'requested' | 'gone' | 'failing';

/** The result of one attempt. */
export type WebhookResponse =
  /** `retryAfter`: the header, unparsed. */
  | { readonly kind: 'answered'; readonly status: number; readonly retryAfter: string | null }
  | {
      readonly kind: 'unanswered';
      readonly problem: Exclude<AttemptProblem, 'not_accepted' | 'redirected' | 'gone'>;
    };

/**
 * What happens to the delivery. `httpStatus`: null without a response. `disables`: the webhook is
 * disabled, too.
 */
export type DeliveryDecision =
  | { readonly kind: 'delivered'; readonly httpStatus: number }
  | (Missed & { readonly kind: 'again'; readonly at: Date })
  | (Missed & { readonly kind: 'failed'; readonly disables: 'gone' | 'failing' | null });
type Missed = { readonly httpStatus: number | null; readonly problem: AttemptProblem };

/** One attempt and its context. */
export type AttemptMade = {
  readonly answer: WebhookResponse;
  /** Attempts before this one. */
  readonly attempts: number;
  /**
   * The first failed attempt since a success or since the webhook was enabled; null: none failed.
   */
  readonly failingSince: Date | null;
  readonly now: Date;
  /** Divides the waits (TIME_SCALE). */
  readonly timeScale: number;
  /** 0 to 1. */
  readonly jitter: number;
};

/**
 * Decides the result of one attempt: 2xx is delivered; 410 ends the delivery and disables the
 * webhook; anything else is retried after each of `deliveryWaitsMs`.
 */
export function decideAttempt(made: AttemptMade): DeliveryDecision {
  const { answer, attempts, now } = made;
  if (answer.kind === 'answered' && isSuccess(answer.status)) {
    return { kind: 'delivered', httpStatus: answer.status };
  }
  const missed = missedBy(answer);
  // "Sender should disable the webhook endpoint, and stop sending it messages": Standard Webhooks
  // on 410.
  if (missed.problem === 'gone') return { ...missed, kind: 'failed', disables: 'gone' };
  const waitMs = deliveryWaitsMs[attempts];
  if (waitMs === undefined) return { ...missed, kind: 'failed', disables: givesUp(made) };
  const scaled = (waitMs / made.timeScale) * spreadOf(made.jitter);
  const wait = Math.max(FLOOR_MS, scaled, askedWaitMs(answer, now));
  return { ...missed, kind: 'again', at: new Date(Math.round(now.getTime() + wait)) };
}

function isSuccess(status: number): boolean {
  return status >= 200 && status <= 299;
}

function missedBy(answer: WebhookResponse): Missed {
  if (answer.kind === 'unanswered') return { httpStatus: null, problem: answer.problem };
  const { status } = answer;
  if (status === 410) return { httpStatus: status, problem: 'gone' };
  const redirected = status >= 300 && status <= 399;
  return { httpStatus: status, problem: redirected ? 'redirected' : 'not_accepted' };
}

/**
 * Called after the last attempt, so a delivery that can still succeed never disables its webhook.
 */
function givesUp({ failingSince, now }: AttemptMade): 'failing' | null {
  if (failingSince === null) return null;
  return now.getTime() - failingSince.getTime() >= FAILING_MS ? 'failing' : null;
}

/**
 * Returns the Retry-After of a busy receiver in milliseconds (RFC 9110, 10.2.3; RFC 6585, 4); 0 if
 * missing.
 */
function askedWaitMs(answer: WebhookResponse, now: Date): number {
  if (answer.kind !== 'answered' || answer.retryAfter === null) return 0;
  if (answer.status !== 429 && answer.status !== 503) return 0;
  const text = answer.retryAfter.trim();
  const ms = /^\d+$/.test(text) ? Number(text) * SECOND : new Date(text).getTime() - now.getTime();
  return Number.isNaN(ms) ? 0 : Math.min(RETRY_AFTER_MS_MAX, Math.max(0, ms));
}
