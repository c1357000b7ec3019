/**
 * Streams as the API opens them: counted while they are open, their domain watched, their key checked, and everything
 * released when they end.
 */
import type { EventFeedStore } from '../../db/events.ts';
import { type EventStreamDeps, eventStream } from '../../events/event-stream.ts';
import type { Watching } from '../../events/watching.ts';
import { createKeyedCount } from '../../net/keyed-count.ts';
import { type Authenticate, allows } from '../keys/auth.ts';
import type { ApiResponse } from '../pipeline/errors.ts';
import { refuse } from '../pipeline/errors.ts';
import type { ApiKeyIdentity } from '../pipeline/route.ts';

/** What streams are made of; one for all streams of a process. */
export type StreamsDeps = EventStreamDeps & {
  /** The number of each project's newest event. */
  readonly lastNumbers: EventFeedStore['lastNumbers'];
  readonly slots: Slots;
  readonly watching: Pick<Watching, 'watch'>;
  /** Whether what a request was authorized with may still read events. Asked at each heartbeat. */
  readonly isStillAuthorized: (authorization: string | undefined) => Promise<boolean>;
  readonly log: {
    error(fields: Readonly<Record<string, unknown>>, message: string): void;
  };
};

/** One request for a stream, authorized and with its names resolved. */
export type StreamAsked = {
  readonly projectId: string;
  /** Null: events of every domain, of which none is watched. */
  readonly domainId: string | null;
  /** Whether the checks of that domain are sent, too. */
  readonly checks: boolean;
  /** The number of the last event that the client has; null: only what happens from now on. */
  readonly after: bigint | null;
  readonly key: ApiKeyIdentity;
  /** The header as it came, to check the key again with. */
  readonly authorization: string | undefined;
  readonly requestId: string;
};

/**
 * Answers 200 with a stream, or refuses one that is too many: 429 for the key, 503 for the process. Who gets the answer must
 * open its stream or discard it.
 */
export type OpenStream = (asked: StreamAsked) => Promise<ApiResponse>;

/** The scope that a stream needs, when it is opened and for as long as it is open. */
export const EVENTS_SCOPE = 'domains:read';

const RETRY_AFTER_SECONDS = '30'; // our choice: none of a key's streams is sure to end sooner

/** Opens streams for one process. A place is taken with the answer and released when the stream ends or is discarded. */
export function createOpenStream(deps: StreamsDeps): OpenStream {
  return async (asked) => {
    // Read before the place is taken, so that a query that fails leaves none taken.
    const newest = (await deps.lastNumbers([asked.projectId])).get(asked.projectId) ?? 0n;
    const slot = deps.slots.take(asked.key.id);
    const headers = { 'retry-after': RETRY_AFTER_SECONDS };
    if (slot.kind === 'key_full') return refuse('too_many_streams', undefined, headers);
    if (slot.kind === 'process_full') return refuse('too_many_connections', undefined, headers);
    return {
      status: 200,
      headers: {
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-store',
        'x-accel-buffering': 'no', // nginx would keep events back until it has a buffer full of them
      },
      stream: {
        open: (signal) => opened(deps, asked, newest, slot.release, signal),
        discard: slot.release,
      },
    };
  };
}

/** Begins the stream, and releases everything once, when the signal aborts or the text ends. */
function opened(
  deps: StreamsDeps,
  { projectId, domainId, checks, after, authorization, requestId }: StreamAsked,
  newest: bigint,
  release: () => void,
  signal: AbortSignal,
): AsyncIterable<string> {
  const unwatch = domainId === null ? () => {} : deps.watching.watch(domainId);
  const letGo = () => {
    unwatch();
    release();
  };
  // On the signal itself, because a stream that nobody begins to read never reaches its `finally`.
  if (signal.aborted) letGo();
  else signal.addEventListener('abort', letGo, { once: true });
  const isStillAuthorized = () => deps.isStillAuthorized(authorization);
  const request = { projectId, domainId, checks, after, newest, isStillAuthorized };
  const text = eventStream(deps, request, signal);
  return encoded(deps, text, { requestId, ...(domainId !== null && { domainId }) }, letGo);
}

/** The text as it is. A fault is logged and breaks the stream off. */
async function* encoded(
  { log }: StreamsDeps,
  text: AsyncIterable<string>,
  about: { readonly requestId: string; readonly domainId?: string },
  letGo: () => void,
): AsyncGenerator<string> {
  try {
    yield* text;
  } catch (err) {
    log.error({ err, ...about }, 'a stream of events broke off');
    throw err;
  } finally {
    letGo();
  }
}

/**
 * Whether the key that a stream was opened with is valid still and has the scope that opening it takes. Rejects where the
 * key store fails.
 */
export function createIsStillAuthorized(authenticate: Authenticate) {
  return async (authorization: string | undefined): Promise<boolean> => {
    const who = await authenticate(authorization);
    return who.kind === 'ok' && allows(who.key, EVENTS_SCOPE);
  };
}

/** How many streams may be open at once: in the process, and for one key in it. */
export type StreamLimits = { readonly total: number; readonly perKey: number };

/**
 * Our choice: half of the connections that the server takes (src/net/connections.ts), so that streams never keep
 * requests out; `perKey` is a page or two open with each of ten people.
 */
export const defaultStreamLimits: StreamLimits = { total: 1_000, perKey: 20 };

/** Counts open streams. */
export type Slots = {
  /** Takes a place, or says whose limit is reached. `release` gives it back, once, however often it is called. */
  take(
    keyId: string,
  ):
    | { readonly kind: 'taken'; readonly release: () => void }
    | { readonly kind: 'key_full' }
    | { readonly kind: 'process_full' };
};

/** The count of one process; other processes have their own. */
export function createSlots({ total, perKey }: StreamLimits): Slots {
  const streams = createKeyedCount({ total, perKey });
  return {
    take(keyId) {
      const admitted = streams.admit(keyId);
      if (admitted === 'key') return { kind: 'key_full' };
      if (admitted === 'total') return { kind: 'process_full' };
      return { kind: 'taken', release: admitted };
    },
  };
}
