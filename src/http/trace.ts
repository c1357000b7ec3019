/** What ties an answer to its lines in the log: the request's id, and its place in a distributed trace. */
import { randomUUID } from 'node:crypto';
import { holdsKey } from './keys/api-key.ts';

export type Trace = {
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

/** Takes up what the headers bring, where it is harmless, and makes up the rest. */
export function traceOf(requestId: string | undefined, traceparent: string | undefined): Trace {
  const random = randomUUID();
  const [, version, given, flags, more] = TRACEPARENT.exec(traceparent ?? '') ?? [];
  const valid = given !== undefined && (version !== '00' || more === undefined);
  const traceId = valid ? given : randomUUID().replaceAll('-', '');
  // Only the sampled bit is known to every version; nothing here costs more because of it.
  const sampled = valid && Number.parseInt(flags ?? '0', 16) % 2 === 1 ? '01' : '00';
  return {
    requestId: isHarmless(requestId) ? requestId : random,
    traceId,
    traceparent: `00-${traceId}-${spanIdFrom(random)}-${sampled}`,
  };
}

/** A key would fit, and would be logged. */
function isHarmless(requestId: string | undefined): requestId is string {
  return requestId !== undefined && REQUEST_ID.test(requestId) && !holdsKey(requestId);
}

/** 16 hex digits of a UUID, none of them the fixed ones of its version and variant. */
function spanIdFrom(uuid: string): string {
  return uuid.slice(0, 8) + uuid.slice(28);
}
