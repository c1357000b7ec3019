/**
 * Streams as the API opens them: counted while they are open, their domain watched, their key checked, and everything
 * released when they end.
 */
import { type GrantedDomainId, reaches } from '../../core/accounts/access.ts';
import { SECOND } from '../../core/time.ts';
import type { EventFeedStore } from '../../db/events.ts';
import type { GrantedProject } from '../../db/projects.ts';
import { type EventStreamDeps, eventStream } from '../../events/event-stream.ts';
import type { Watching } from '../../events/watching.ts';
import { createKeyedCount } from '../../net/keyed-count.ts';
import type { ActFor } from '../keys/act-for.ts';
import { type Authenticate, allows } from '../keys/auth.ts';
import type { ApiResponse } from '../pipeline/errors.ts';
import { type Refusal, refuse } from '../pipeline/errors.ts';
import type { ApiKeyIdentity } from '../pipeline/route.ts';
import { refuseLimit } from './account-limits.ts';

/** What streams are made of; one for all streams of a process. */
export type StreamsDeps = EventStreamDeps & {
  /** The number of each project's newest event. */
  readonly lastNumbers: EventFeedStore['lastNumbers'];
  readonly now: () => Date;
  readonly slots: Slots;
  readonly watching: Pick<Watching, 'watch'>;
  /** Whether who asked may still read these events. Called at each heartbeat. */
  readonly isStillAuthorized: (asked: StreamAsker) => Promise<boolean>;
  readonly log: {
    error(fields: Readonly<Record<string, unknown>>, message: string): void;
  };
};

/** Whose events are read, and what the request brought to be authorized with, as it came. */
export type StreamAsker = {
  readonly project: Pick<GrantedProject, 'id' | 'accountId'>;
  readonly authorization: string | undefined;
  /** The value of `Signpost-Account`. */
  readonly account: string | undefined;
};

/** One request for a stream, authorized and with its names resolved. */
export type StreamAsked = StreamAsker & {
  /** Null: events of every domain, of which none is watched. */
  readonly domainId: GrantedDomainId | null;
  /** Whether the checks of that domain are sent, too. */
  readonly checks: boolean;
  /** The number of the last event that the client has; null: only what happens from now on. */
  readonly after: bigint | null;
  readonly key: ApiKeyIdentity;
  readonly requestId: string;
};

/**
 * Answers 200 with a stream, or refuses one that is too many: 429 for the key or its account, 503 for the process. Who gets the answer must
 * open its stream or discard it.
 */
export type OpenStream = (asked: StreamAsked) => Promise<ApiResponse>;

/** The scope that a stream needs, when it is opened and for as long as it is open. */
export const EVENTS_SCOPE = 'domains:read';

const RETRY_AFTER_SECONDS = 30; // our choice: none of a key's streams is sure to end sooner

/** Opens streams for one process. A place is taken with the answer and released when the stream ends or is discarded. */
export function createOpenStream(deps: StreamsDeps): OpenStream {
  return async (asked) => {
    // Read before the place is taken, so that a query that fails leaves none taken.
    const { id } = asked.project;
    const newest = (await deps.lastNumbers([id])).get(id) ?? 0n;
    const slot = deps.slots.take(asked.key);
    const headers = { 'retry-after': String(RETRY_AFTER_SECONDS) };
    if (slot.kind === 'account_full') return refuseAccount(slot, deps.now());
    if (slot.kind === 'key_full') {
      return refuse('too_many_streams', keyInWords(slot, deps.now()), headers);
    }
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

type Full = { readonly used: number; readonly most: number };

function keyInWords({ used, most }: Full, now: Date): string {
  const until = retryAt(now).toISOString();
  return `This API key has ${used} of ${most} streams open in this process; close one, or try again at ${until}.`;
}

function retryAt(now: Date): Date {
  return new Date(now.getTime() + RETRY_AFTER_SECONDS * SECOND);
}

function refuseAccount({ used, most }: Full, now: Date): Refusal {
  const until = retryAt(now);
  return refuseLimit({ limit: 'streams', used, most, until }, now);
}

/** Begins the stream, and releases everything once, when the signal aborts or the text ends. */
function opened(
  deps: StreamsDeps,
  asked: StreamAsked,
  newest: bigint,
  release: () => void,
  signal: AbortSignal,
): AsyncIterable<string> {
  const { project, domainId, checks, after, requestId } = asked;
  const unwatch = domainId === null ? () => {} : deps.watching.watch(domainId);
  const letGo = () => {
    unwatch();
    release();
  };
  // On the signal itself, because a stream that nobody begins to read never reaches its `finally`.
  if (signal.aborted) letGo();
  else signal.addEventListener('abort', letGo, { once: true });
  const isStillAuthorized = () => deps.isStillAuthorized(asked);
  const request = { projectId: project.id, domainId, checks, after, newest, isStillAuthorized };
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
 * Whether a request would be let in still: its key is valid and has the scope, the account that it acts for is open, and the
 * project is within its reach. Rejects where a store fails.
 */
export function createIsStillAuthorized({
  authenticate,
  actFor,
}: {
  readonly authenticate: Authenticate;
  readonly actFor: ActFor;
}) {
  return async ({ project, authorization, account }: StreamAsker): Promise<boolean> => {
    const who = await authenticate(authorization);
    if (who.kind !== 'ok') return false;
    const key = await actFor(who.key, account);
    return !('status' in key) && allows(key, EVENTS_SCOPE) && reaches(key.access, project);
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
    key: Pick<ApiKeyIdentity, 'id' | 'access' | 'limits'>,
  ):
    | { readonly kind: 'taken'; readonly release: () => void }
    | ({ readonly kind: 'account_full' } & Full)
    | ({ readonly kind: 'key_full' } & Full)
    | { readonly kind: 'process_full' };
  /** How many streams an account has open, over all keys that act for it. */
  ofAccount(accountId: string): number;
};

/** The count of one process; other processes have their own. */
export function createSlots({ total, perKey }: StreamLimits): Slots {
  const byKey = createKeyedCount({ total, perKey });
  const byAccount = createKeyedCount({ total: Number.POSITIVE_INFINITY, perKey: 0 });
  return {
    ofAccount: byAccount.of,
    take({ id, access, limits }) {
      const ofKey = byKey.admit(id);
      if (ofKey === 'key') return { kind: 'key_full', used: byKey.of(id), most: perKey };
      if (ofKey === 'total') return { kind: 'process_full' };
      if (access.kind !== 'account') return { kind: 'taken', release: ofKey };
      const { accountId } = access;
      const most = limits?.streams ?? Number.POSITIVE_INFINITY;
      const ofAccount = byAccount.admit(accountId, most);
      if (typeof ofAccount !== 'string') {
        return {
          kind: 'taken',
          release: () => {
            ofKey();
            ofAccount();
          },
        };
      }
      ofKey();
      return { kind: 'account_full', used: byAccount.of(accountId), most };
    },
  };
}
