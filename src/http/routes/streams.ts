/** Streams as the API opens them: counted, watched while they are open, checked for their key, and let go of. */
import type { EventFeedStore } from '../../db/events.ts';
import { type EventStreamDeps, eventStream } from '../../events/event-stream.ts';
import type { Watching } from '../../events/watching.ts';
import { type Authenticate, allows } from '../keys/auth.ts';
import { refuse } from '../pipeline/errors.ts';
import type { ApiResponse } from '../pipeline/response.ts';
import type { ApiKeyIdentity } from '../pipeline/route.ts';

export type StreamsDeps = EventStreamDeps & {
  readonly lastNumbers: EventFeedStore['lastNumbers'];
  readonly slots: Slots;
  readonly watching: Pick<Watching, 'watch'>;
  /** Whether what a request was authorized with may still do what it asked for. */
  readonly isStillAuthorized: (authorization: string | undefined) => Promise<boolean>;
  readonly log: {
    error(fields: Readonly<Record<string, unknown>>, message: string): void;
  };
};

export type StreamAsked = {
  readonly projectId: string;
  /** Null: events of every domain, of which none is watched. */
  readonly domainId: string | null;
  /** Whether the checks of that domain are told, too. */
  readonly checks: boolean;
  readonly after: bigint | null;
  readonly key: ApiKeyIdentity;
  readonly authorization: string | undefined;
  readonly requestId: string;
};

/** Answers with a stream, or refuses one that is too many. */
export type OpenStream = (asked: StreamAsked) => Promise<ApiResponse>;

export const EVENTS_SCOPE = 'domains:read';

const RETRY_AFTER_SECONDS = '30'; // our choice: none of a key's streams is sure to end sooner

export function createOpenStream(deps: StreamsDeps): OpenStream {
  return async (asked) => {
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
  // At once, even where nobody ever begins to read.
  if (signal.aborted) letGo();
  else signal.addEventListener('abort', letGo, { once: true });
  const isStillAuthorized = () => deps.isStillAuthorized(authorization);
  const request = { projectId, domainId, checks, after, newest, isStillAuthorized };
  const text = eventStream(deps, request, signal);
  return encoded(deps, text, { requestId, ...(domainId !== null && { domainId }) }, letGo);
}

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

/** True while the key that the stream was opened with is valid and has the scope that opening it takes. */
export function createIsStillAuthorized(authenticate: Authenticate) {
  return async (authorization: string | undefined): Promise<boolean> => {
    const who = await authenticate(authorization);
    return who.kind === 'ok' && allows(who.key, EVENTS_SCOPE);
  };
}

export type StreamLimits = { readonly total: number; readonly perKey: number };

/**
 * Our choice: half of the connections that the server takes (src/net/connections.ts), so that streams never keep
 * requests out; `perKey` is a page or two open with each of ten people.
 */
export const defaultStreamLimits: StreamLimits = { total: 1_000, perKey: 20 };

export type Slots = {
  /** Counts a stream in. `release` counts it out again, once, however often it is called. */
  take(
    keyId: string,
  ):
    | { readonly kind: 'taken'; readonly release: () => void }
    | { readonly kind: 'key_full' }
    | { readonly kind: 'process_full' };
};

export function createSlots({ total, perKey }: StreamLimits): Slots {
  const byKey = new Map<string, number>();
  let all = 0;
  return {
    take(keyId) {
      const before = byKey.get(keyId) ?? 0;
      if (before >= perKey) return { kind: 'key_full' };
      if (all >= total) return { kind: 'process_full' };
      byKey.set(keyId, before + 1);
      all += 1;
      let isReleased = false;
      return {
        kind: 'taken',
        release() {
          if (isReleased) return;
          isReleased = true;
          all -= 1;
          const left = (byKey.get(keyId) ?? 1) - 1;
          if (left === 0) byKey.delete(keyId);
          else byKey.set(keyId, left);
        },
      };
    },
  };
}
