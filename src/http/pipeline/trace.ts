/** What ties an answer to its lines in the log: the request's id, and its place in a distributed trace. */
import { randomUUID } from 'node:crypto';
import type { IsSecret } from '../keys/auth.ts';
import type { Headers } from './route.ts';

/** The names that a request has in the log and in its answer. */
export type Trace = {
  /** 1 to 64 of `A–Z a–z 0–9 . _ -`: the client's own, or a UUID of ours. */
  readonly requestId: string;
  /** 32 hex digits, the caller's where it sent a valid `traceparent`. */
  readonly traceId: string;
  /** Our own `traceparent`: the caller's trace, a span of ours (W3C Trace Context, 3.2). */
  readonly traceparent: string;
};

const REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/;
/** A later version may add fields after the four that are known (W3C Trace Context, 3.2.3). */
const TRACEPARENT =
  /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-([0-9a-f]{2})(-.*)?$/;

/**
 * Takes up what the headers bring, where it is harmless, and makes up the rest. `ofSpan` is the `traceparent` of the span
 * that an OpenTelemetry SDK has begun for the request; null where none has. Never throws.
 */
export function traceOf(headers: Headers, isSecret: IsSecret, ofSpan: string | null = null): Trace {
  const random = randomUUID();
  const place = ofSpan === null ? placeIn(headers, random) : placeOf(ofSpan);
  const requestId = headers['x-request-id'];
  if (requestId === undefined || !REQUEST_ID.test(requestId)) {
    return { requestId: random, ...place };
  }
  // A key would fit the pattern, and would be logged.
  return { requestId: isSecret(requestId, headers) ? random : requestId, ...place };
}

/** Where a request stands in its trace. */
type Place = Omit<Trace, 'requestId'>;

/** The place that a span's context names, which is valid (W3C Trace Context, 3.2.2). */
function placeOf(traceparent: string): Place {
  return { traceId: traceparent.slice(3, 35), traceparent };
}

/** The place by the caller's `traceparent`, or a trace of its own where that is missing or malformed. */
function placeIn(headers: Headers, random: string): Place {
  const [, version, given, flags, more] = TRACEPARENT.exec(headers['traceparent'] ?? '') ?? [];
  const valid = given !== undefined && (version !== '00' || more === undefined);
  const traceId = valid ? given : randomUUID().replaceAll('-', '');
  // Only the sampled bit is known to every version; nothing here costs more because of it.
  const sampled = valid && Number.parseInt(flags ?? '0', 16) % 2 === 1 ? '01' : '00';
  return { traceId, traceparent: `00-${traceId}-${spanIdFrom(random)}-${sampled}` };
}

/** 16 hex digits of a UUID, none of them the fixed ones of its version and variant. */
function spanIdFrom(uuid: string): string {
  return uuid.slice(0, 8) + uuid.slice(28);
}
