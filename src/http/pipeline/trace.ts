/** Links a response to its log lines: the request ID and the distributed trace. */
import { randomUUID } from 'node:crypto';
import type { IsSecret } from '../keys/auth.ts';
import type { Headers } from './route.ts';

export type Trace = {
  /** 1 to 64 of `A–Z a–z 0–9 . _ -`: the client's own or a UUID. */
  readonly requestId: string;
  /** 32 hex digits. */
  readonly traceId: string;
  /** The caller's trace with our span (W3C Trace Context, 3.2). */
  readonly traceparent: string;
};

const REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/;
/** Later versions can add fields after the four known ones (W3C Trace Context, 3.2.3). */
const TRACEPARENT =
  /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-([0-9a-f]{2})(-.*)?$/;

/** `ofSpan`: `traceparent` of the request's OpenTelemetry span, or null. Never throws. */
export function traceOf(headers: Headers, isSecret: IsSecret, ofSpan: string | null = null): Trace {
  const random = randomUUID();
  const place = ofSpan === null ? placeIn(headers, random) : placeOf(ofSpan);
  const requestId = headers['x-request-id'];
  if (requestId === undefined || !REQUEST_ID.test(requestId)) {
    return { requestId: random, ...place };
  }
  // An API key matches the pattern and must not be logged.
  return { requestId: isSecret(requestId, headers) ? random : requestId, ...place };
}

type Place = Omit<Trace, 'requestId'>;

function placeOf(traceparent: string): Place {
  return { traceId: traceparent.slice(3, 35), traceparent };
}

function placeIn(headers: Headers, random: string): Place {
  const [, version, given, flags, more] = TRACEPARENT.exec(headers['traceparent'] ?? '') ?? [];
  const valid = given !== undefined && (version !== '00' || more === undefined);
  const traceId = valid ? given : randomUUID().replaceAll('-', '');
  // Only the sampled bit is defined in every version.
  const sampled = valid && Number.parseInt(flags ?? '0', 16) % 2 === 1 ? '01' : '00';
  return { traceId, traceparent: `00-${traceId}-${spanIdFrom(random)}-${sampled}` };
}

/** 16 hex digits of a UUID, without the fixed ones of its version and variant. */
function spanIdFrom(uuid: string): string {
  return uuid.slice(0, 8) + uuid.slice(28);
}
