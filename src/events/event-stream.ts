/** One stream: every event of a project after a number, in order, without a gap and none twice, for as long as it is read. */

import { isUnavailable } from '../db/engine/unavailable.ts';
import type { EventFeedStore, EventRow } from '../db/events.ts';
import { renderJson } from '../net/json.ts';
import type { CheckFeed, FollowingChecks } from './check-feed.ts';
import { eventView } from './event-view.ts';
import type { Feed } from './feed.ts';

export type EventStreamDeps = {
  readonly feed: Feed;
  readonly checkFeed: Pick<CheckFeed, 'follow'>;
  readonly page: EventFeedStore['page'];
  readonly heartbeatMs?: number;
  readonly pageSize?: number;
};

export type StreamRequest = {
  readonly projectId: string;
  /** Null: events of every domain. */
  readonly domainId: string | null;
  /** Whether the checks of that domain are told, too. */
  readonly checks: boolean;
  /** The last one that the client has; null: it wants what comes from now on. */
  readonly after: bigint | null;
  /** The number of the newest event, read just now. */
  readonly newest: bigint;
  /** Whether the key still may. Asked at each heartbeat. */
  readonly isStillAuthorized: () => Promise<boolean>;
};

/** Our choice: below the 30 s after which the strictest of the usual proxies close what is silent. */
export const HEARTBEAT_MS = 15_000;
const PAGE_SIZE = 100;
const CHUNK_LENGTH = 16_384;
const RETRY_MS = 500;

/** The text of the stream. It reads on only as it is read, survives a database that is away, and ends with the signal. */
export async function* eventStream(
  deps: EventStreamDeps,
  request: StreamRequest,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const { heartbeatMs = HEARTBEAT_MS } = deps;
  const following = deps.feed.follow(request.projectId, request.newest);
  const checkFeed = followChecks(deps, request, following.wake);
  try {
    let cursor = request.after ?? request.newest;
    yield opening(request.after === null ? cursor : null);
    let beatAt = performance.now() + heartbeatMs;
    while (!signal.aborted) {
      const newest = following.newest();
      const step = orChecked(await nextStep(deps, request, cursor, newest), checkFeed, cursor);
      if (typeof step === 'number') {
        await following.change(newest, Math.min(step, beatAt - performance.now()), signal);
      } else {
        cursor = step.upTo;
        yield* chunked(step.texts, CHUNK_LENGTH);
      }
      if (signal.aborted || performance.now() < beatAt) continue;
      if (!(await isStillAuthorized(request))) return;
      yield heartbeat;
      beatAt = performance.now() + heartbeatMs;
    }
  } finally {
    following.end();
    checkFeed.end();
  }
}

const noChecks: FollowingChecks = { next: () => null, end: () => {} };

function followChecks(
  { checkFeed }: EventStreamDeps,
  { checks, domainId }: StreamRequest,
  onCheck: () => void,
): FollowingChecks {
  return checks && domainId !== null ? checkFeed.follow(domainId, onCheck) : noChecks;
}

/** Where there is no event to tell: the last check, if that is news. */
function orChecked(step: Step | number, { next }: FollowingChecks, cursor: bigint): Step | number {
  const checked = typeof step === 'number' ? next() : null;
  return checked === null ? step : { texts: [toCheckedText(checked)], upTo: cursor };
}

/** `upTo`: whoever has read these has everything up to there. */
type Step = { readonly texts: readonly string[]; readonly upTo: bigint };

/** What comes after `cursor`, or for how many milliseconds there is nothing to do but to wait for news. */
async function nextStep(
  deps: EventStreamDeps,
  request: StreamRequest,
  cursor: bigint,
  newest: bigint,
): Promise<Step | number> {
  if (newest === cursor) return Number.POSITIVE_INFINITY;
  if (newest < cursor) return { texts: [reset(newest)], upTo: newest };
  const page = await readPage(deps, request, { after: cursor, upTo: newest });
  return page === null ? RETRY_MS : { texts: page.rows.map(toText), upTo: page.upTo };
}

type Page = { readonly rows: readonly EventRow[]; readonly upTo: bigint };

/** Null where the database is away. `upTo`: everything up to there has been read. */
async function readPage(
  { page, pageSize = PAGE_SIZE }: EventStreamDeps,
  { projectId, domainId }: StreamRequest,
  range: { readonly after: bigint; readonly upTo: bigint },
): Promise<Page | null> {
  try {
    const rows = await page({ projectId, domainId, ...range, limit: pageSize });
    const last = rows.length < pageSize ? undefined : rows.at(-1);
    return { rows, upTo: last?.number ?? range.upTo };
  } catch (fault) {
    if (isUnavailable(fault)) return null;
    throw fault;
  }
}

/** While nobody can be asked, nothing can be read either; so the stream stays. */
async function isStillAuthorized(request: StreamRequest): Promise<boolean> {
  try {
    return await request.isStillAuthorized();
  } catch (fault) {
    if (isUnavailable(fault)) return true;
    throw fault;
  }
}

function toText(row: EventRow): string {
  const { number, type } = row;
  return sentEvent({ id: number, event: type, data: renderJson(eventView(row)) });
}

type CheckNotification = NonNullable<ReturnType<FollowingChecks['next']>>;

function toCheckedText({
  hostname,
  attempts,
  lastCheckedAt,
  nextCheckAt,
  changed,
}: CheckNotification): string {
  const data = { hostname, attempts, lastCheckedAt, nextCheckAt, changed };
  return sentEvent({ id: null, event: 'checked', data: renderJson(data) });
}

function reset(newest: bigint): string {
  return sentEvent({ id: newest, event: 'stream.reset', data: renderJson({ newest }) });
}

export type SentEvent = {
  /** What the client names as `Last-Event-ID` when it comes back; null: this is none of the numbered ones. */
  readonly id: bigint | null;
  readonly event: string;
  /** One line. */
  readonly data: string;
};

/** Our choice: long enough that a process that restarts is not stormed, short enough that nobody notices. */
const RECONNECT_MS = 2_000;

/** One event. JSON has no line feed outside of its white space, which ours has not either. */
export function sentEvent({ id, event, data }: SentEvent): string {
  const numbered = id === null ? '' : `id: ${id}\n`;
  return `${numbered}event: ${event}\ndata: ${data}\n\n`;
}

/**
 * What a stream begins with: how long to wait before coming back, and where it begins. An id without data makes no event
 * in the client, but is what it comes back with where it saw none.
 */
export function opening(id: bigint | null): string {
  return id === null ? `retry: ${RECONNECT_MS}\n\n` : `retry: ${RECONNECT_MS}\nid: ${id}\n\n`;
}

/** A comment, which clients drop, and which shows every proxy on the way that the connection is in use. */
export const heartbeat = ': heartbeat\n\n';

/** Beyond everything that was ever told: the database was put back to an earlier state. `null`: no number. */
export function parseLastEventId(text: string): bigint | null {
  return /^\d{1,40}$/.test(text) ? BigInt(text) : null;
}

/** Joins texts to chunks of about `size` characters, so that a slow reader has to take little at a time. */
export function* chunked(texts: Iterable<string>, size: number): Generator<string> {
  let chunk = '';
  for (const text of texts) {
    chunk += text;
    if (chunk.length < size) continue;
    yield chunk;
    chunk = '';
  }
  if (chunk !== '') yield chunk;
}
