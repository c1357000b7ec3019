import { spreadOf } from '../life/ladder.ts';
import { DAY, HOUR, MINUTE, SECOND, WAIT_MS_MIN } from '../time.ts';

/**
 * Milliseconds after each attempt but the last. Follows Standard Webhooks ("Deliverability and
 * reliability") up to 10 hours, then 10 once more: 27.6 h cover an outage overnight.
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

/** Of one attempt. Below Standard Webhooks' 15 to 30 s: a receiver should queue the message and respond. */
export const DELIVERY_TIMEOUT_MS = 10 * SECOND;
/** Longer values of Retry-After are cut to a day. */
const RETRY_AFTER_MS_MAX = DAY;
/** After a rotation both secrets sign for this long. */
export const OLD_SECRET_MS = DAY;
/** A webhook without a successful delivery for this long is disabled. */
export const FAILING_MS = 5 * DAY;
export const DELIVERIES_KEPT_MS = 30 * DAY;

/**
 * No other part of the response is stored. `name_not_resolved`: no address. `name_not_told`: the
 * DNS query failed. `address_refused`, `url_refused`: see src/net/destination.ts.
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

export type EndProblem = 'webhook_deleted' | 'webhook_disabled' | 'replayed';
export type DeliveryProblem = AttemptProblem | EndProblem;

export type DisabledReason = 'requested' | 'gone' | 'failing';

export type WebhookResponse =
  /** `retryAfter`: the header, unparsed. */
  | { readonly kind: 'answered'; readonly status: number; readonly retryAfter: string | null }
  | {
      readonly kind: 'unanswered';
      readonly problem: Exclude<AttemptProblem, 'not_accepted' | 'redirected' | 'gone'>;
    };

/** `disables`: the webhook is disabled, too. */
export type DeliveryDecision =
  | { readonly kind: 'delivered'; readonly httpStatus: number }
  | (Missed & { readonly kind: 'again'; readonly at: Date })
  | (Missed & { readonly kind: 'failed'; readonly disables: 'gone' | 'failing' | null });
type Missed = { readonly httpStatus: number | null; readonly problem: AttemptProblem };

export type AttemptMade = {
  readonly answer: WebhookResponse;
  readonly attempts: number;
  /** Since a success, or since the webhook was enabled. */
  readonly failingSince: Date | null;
  readonly now: Date;
  readonly timeScale: number;
  /** 0 to 1. */
  readonly jitter: number;
};

/** 2xx is delivered; 410 disables the webhook; anything else is retried after `deliveryWaitsMs`. */
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
  const wait = Math.max(WAIT_MS_MIN, scaled, askedWaitMs(answer, now));
  return { ...missed, kind: 'again', at: new Date(Math.round(now.getTime() + wait)) };
}

function isSuccess(status: number): boolean {
  return status >= 200 && status <= 299;
}

/** Why an answer is not a success; `decideAttempt` says what follows. */
export function outcomeOf(
  answer: WebhookResponse,
): Missed | { readonly httpStatus: number; readonly problem: null } {
  return answer.kind === 'answered' && isSuccess(answer.status)
    ? { httpStatus: answer.status, problem: null }
    : missedBy(answer);
}

function missedBy(answer: WebhookResponse): Missed {
  if (answer.kind === 'unanswered') return { httpStatus: null, problem: answer.problem };
  const { status } = answer;
  if (status === 410) return { httpStatus: status, problem: 'gone' };
  const redirected = status >= 300 && status <= 399;
  return { httpStatus: status, problem: redirected ? 'redirected' : 'not_accepted' };
}

/** Only after the last attempt: a delivery that can still succeed never disables its webhook. */
function givesUp({ failingSince, now }: AttemptMade): 'failing' | null {
  if (failingSince === null) return null;
  return now.getTime() - failingSince.getTime() >= FAILING_MS ? 'failing' : null;
}

/** Milliseconds (RFC 9110, 10.2.3; RFC 6585, 4); 0 without a Retry-After. */
function askedWaitMs(answer: WebhookResponse, now: Date): number {
  if (answer.kind !== 'answered' || answer.retryAfter === null) return 0;
  if (answer.status !== 429 && answer.status !== 503) return 0;
  const text = answer.retryAfter.trim();
  const ms = /^\d+$/.test(text) ? Number(text) * SECOND : new Date(text).getTime() - now.getTime();
  return Number.isNaN(ms) ? 0 : Math.min(RETRY_AFTER_MS_MAX, Math.max(0, ms));
}
