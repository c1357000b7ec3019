/** Opens event streams, rechecks their keys, and releases everything when they end. */
import { type Access, wholeInstallation } from '../../core/access.ts';
import { ladder } from '../../core/life/ladder.ts';
import { scaledMs } from '../../core/time.ts';
import {
  createWatchedDomainStore,
  type WatchedDomainStore,
} from '../../db/domains/watched-domains.ts';
import type { EventFeedStore } from '../../db/events.ts';
import { type CheckFeed, createCheckFeed } from '../../events/check-feed.ts';
import {
  type EventStreamDeps,
  eventStream,
  KEY_CHECK_MS,
  type StreamRequest,
} from '../../events/event-stream.ts';
import { createFeed, sharePages } from '../../events/feed.ts';
import { createWatching, type Watching } from '../../events/watching.ts';
import { createKeyedCount } from '../../net/keyed-count.ts';
import type { Service } from '../../service/service.ts';
import { type Authenticate, allows } from '../keys/auth.ts';
import { refuseBusy } from '../limits/account-limits.ts';
import { type ApiResponse, refuse } from '../pipeline/errors.ts';
import type { ApiKeyIdentity } from '../pipeline/route.ts';

type StreamAsked = Omit<StreamRequest, 'newest' | 'isKeyValid' | 'isProjectVisible'> & {
  readonly key: ApiKeyIdentity;
  /** Used to check the key again. */
  readonly authorization: string | undefined;
  readonly requestId: string;
};

/** 429 (key) or 503 (process) above a limit. The caller must open the stream or discard it. */
export type OpenStream = (asked: StreamAsked) => Promise<ApiResponse>;

/** Required to open a stream and to keep it open. */
export const EVENTS_SCOPE = 'domains:read';

const RETRY_AFTER_SECONDS = '30'; // none of the key's streams is certain to end sooner

type StreamService = Pick<Service, 'config' | 'database' | 'events' | 'log' | 'now' | 'queues'>;

/** What tests replace. */
type Replaceable = {
  readonly limits: StreamLimits;
  readonly pollMs: number;
  readonly heartbeatMs: number;
  readonly watching: Watching;
  readonly checkFeed: CheckFeed;
};

/** Reads nothing before the first stream. */
export function createStreams(
  service: StreamService,
  authenticate: Authenticate,
  replaced: Partial<Replaceable> = {},
) {
  const { database, events, log } = service;
  const { limits = defaultStreamLimits, pollMs, heartbeatMs } = replaced;
  // Shared by all streams, each of which checks its own access when it opens and at each heartbeat.
  const lastNumbers = (ids: readonly string[]) => events.lastNumbers(wholeInstallation, ids);
  const feed = createFeed({ lastNumbers, log, ...(pollMs && { pollMs }) });
  const store = createWatchedDomainStore(database.prisma);
  const lastChecks = (ids: readonly string[]) => store.lastChecks(wholeInstallation, ids);
  const checkFeed = replaced.checkFeed ?? createCheckFeed({ lastChecks, log });
  const watching = replaced.watching ?? watchingOf(service, store);
  const shared: SharedStreamParts = {
    feed,
    checkFeed,
    page: sharePages(events.page),
    ...(heartbeatMs && { heartbeatMs }),
    events,
    slots: createStreamSlots(limits),
    watching,
    isKeyValid: createIsKeyValid(authenticate),
    log,
  };
  return {
    open: (asked: StreamAsked) => openStream(shared, asked),
    /** Stops all reads and writes. */
    close(): void {
      feed.close();
      checkFeed.close();
      watching.close();
    },
  };
}

function watchingOf(
  { config, log, now, queues }: StreamService,
  store: WatchedDomainStore,
): Watching {
  return createWatching({
    store,
    promote: (domain) => queues.promote('check-dns', domain),
    now,
    log,
    checkEveryMs: scaledMs(ladder.watchedWaitMs, config.timeScale),
  });
}

/** Shared by all streams of the process. */
type SharedStreamParts = EventStreamDeps & {
  readonly events: EventFeedStore;
  readonly slots: StreamSlots;
  readonly watching: Watching;
  readonly isKeyValid: (authorization: string | undefined) => Promise<boolean>;
  readonly log: Service['log'];
};

/** The slot is taken with the response and released when the stream ends or is discarded. */
async function openStream(shared: SharedStreamParts, asked: StreamAsked): Promise<ApiResponse> {
  const { access, projectId } = asked;
  // Read before a slot is taken, so that a failed query does not leak one.
  const newest = (await shared.events.lastNumbers(access, [projectId])).get(projectId) ?? 0n;
  const slot = shared.slots.take(asked.key.id, access);
  const headers = { 'retry-after': RETRY_AFTER_SECONDS };
  if (slot.kind === 'key_full') return refuse('too_many_streams', keyFull(slot.limit), headers);
  if (slot.kind === 'account_full') {
    return refuseBusy('too_many_streams', 'streams', slot.limit, RETRY_AFTER_SECONDS);
  }
  if (slot.kind === 'process_full') return refuse('too_many_connections', undefined, headers);
  return {
    status: 200,
    headers: {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no', // stops nginx from buffering events
    },
    stream: {
      open: (signal) => opened(shared, asked, newest, slot.release, signal),
      discard: slot.release,
    },
  };
}

function keyFull(limit: number): string {
  return `The limit is ${limit} open streams per API key and process; it cannot be changed. Close one, or try again later.`;
}

/** Releases everything once, when the signal aborts or the text ends. */
function opened(
  shared: SharedStreamParts,
  { access, projectId, domain, checks, after, authorization, requestId }: StreamAsked,
  newest: bigint,
  release: () => void,
  signal: AbortSignal,
): AsyncIterable<string> {
  const unwatch = domain === null ? () => {} : shared.watching.watch(domain.id);
  const letGo = () => {
    unwatch();
    release();
  };
  // Listens on the signal itself, because a stream that is never read does not reach its `finally`.
  if (signal.aborted) letGo();
  else signal.addEventListener('abort', letGo, { once: true });
  const isKeyValid = () => shared.isKeyValid(authorization);
  // The stream of a deleted project ends, too.
  const isProjectVisible = async () =>
    (await shared.events.lastNumbers(access, [projectId])).has(projectId);
  const position = { after, newest };
  const request = { access, projectId, domain, checks, ...position, isKeyValid, isProjectVisible };
  const text = eventStream(shared, request, signal);
  return encoded(
    shared,
    text,
    { requestId, ...(domain !== null && { domainId: domain.id }) },
    letGo,
  );
}

/** Logs an error, which ends the stream. */
async function* encoded(
  { log }: SharedStreamParts,
  text: AsyncIterable<string>,
  about: { readonly requestId: string; readonly domainId?: string },
  letGo: () => void,
): AsyncGenerator<string> {
  try {
    yield* text;
  } catch (err) {
    log.error({ err, ...about }, 'event stream failed');
    throw err;
  } finally {
    letGo();
  }
}

/** Whether the key or session is valid and has EVENTS_SCOPE. Rejects if the database fails. */
function createIsKeyValid(authenticate: Authenticate) {
  const options = { takesSession: true, cachedMs: KEY_CHECK_MS };
  return async (authorization: string | undefined): Promise<boolean> => {
    const who = await authenticate(authorization, options);
    return who.kind === 'ok' && allows(who.key, EVENTS_SCOPE);
  };
}

// How many event streams are open.

/** Open at once, per process and per key. An account has its own limit. */
type StreamLimits = { readonly total: number; readonly perKey: number };

/** Half of the server's connections (src/net/connections.ts); two pages for each of ten users. */
const defaultStreamLimits: StreamLimits = { total: 1_000, perKey: 20 };

type StreamSlots = {
  /** Names the limit that is reached. `release` is idempotent. */
  take(
    keyId: string,
    access: Access,
  ):
    | { readonly kind: 'taken'; readonly release: () => void }
    | { readonly kind: 'key_full'; readonly limit: number }
    | { readonly kind: 'account_full'; readonly limit: number }
    | { readonly kind: 'process_full' };
};

/** Per process. */
function createStreamSlots({ total, perKey }: StreamLimits): StreamSlots {
  const ofKeys = createKeyedCount({ total, perKey });
  const ofAccounts = createKeyedCount({ total, perKey: total });
  return {
    take(keyId, access) {
      const [owner, most] =
        access.kind === 'account' ? [access.accountId, access.limits.streams] : ['', null];
      const releaseAccount = ofAccounts.admit(owner, most ?? total);
      if (releaseAccount === 'key' && most !== null) return { kind: 'account_full', limit: most };
      if (typeof releaseAccount !== 'function') return { kind: 'process_full' };
      const releaseKey = ofKeys.admit(keyId);
      if (typeof releaseKey === 'function') {
        return { kind: 'taken', release: () => [releaseKey, releaseAccount].map((one) => one()) };
      }
      releaseAccount();
      return releaseKey === 'key' ? { kind: 'key_full', limit: perKey } : { kind: 'process_full' };
    },
  };
}
