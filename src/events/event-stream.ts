/** One stream: every event of a project after a number, in order, without a gap and none twice, while it is read. */

import type { GrantedDomainId, GrantedProjectId } from '../core/accounts/access.ts';
import { explain, type Finding, severities } from '../core/diagnosis/findings.ts';
import { isUnavailable } from '../db/engine/unavailable.ts';
import type { EventFeedStore, EventRow } from '../db/events.ts';
import { renderJson } from '../net/json.ts';
import type { CheckFeed, FollowingChecks } from './check-feed.ts';
import type { Feed } from './feed.ts';

/** What all streams of a process share. */
export type EventStreamDeps = {
  readonly feed: Feed;
  readonly checkFeed: Pick<CheckFeed, 'follow'>;
  readonly page: EventFeedStore['page'];
  /** 15 s unless given. */
  readonly heartbeatMs?: number;
  /** Events that one read returns at most; 100 unless given. */
  readonly pageSize?: number;
};

/** What one client asked for. */
export type StreamRequest = {
  readonly projectId: GrantedProjectId;
  /** Null: events of every domain. */
  readonly domainId: GrantedDomainId | null;
  /** Whether the checks of that domain are sent as well; without a domain it has no effect. */
  readonly checks: boolean;
  /** The number of the last event that the client has; null: it wants what comes from now on. */
  readonly after: bigint | null;
  /** The number of the newest event, read just now. */
  readonly newest: bigint;
  /** Whether the key may still read the stream. Called before each heartbeat; false ends the stream. */
  readonly isStillAuthorized: () => Promise<boolean>;
};

/** Our choice: below the 30 s after which the strictest of the usual proxies close what is silent. */
export const HEARTBEAT_MS = 15_000;
/** Events that one read returns at most. */
const PAGE_SIZE = 100;
/** Characters that are given to the reader at once, about. */
const CHUNK_LENGTH = 16_384;
/** The wait before the next read while the database is away. */
const RETRY_MS = 500;

/**
 * The text of the stream, as `text/event-stream`. It reads on only as fast as it is read, continues after an outage of the
 * database, and ends when the signal aborts or the key may read no longer. Other faults end it with an error.
 */
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

/** Where no event is to be sent: the last check, unless it was sent before. */
function orChecked(step: Step | number, { next }: FollowingChecks, cursor: bigint): Step | number {
  const checked = typeof step === 'number' ? next() : null;
  return checked === null ? step : { texts: [toCheckedText(checked)], upTo: cursor };
}

/** `upTo`: whoever has read these has everything up to there. */
type Step = { readonly texts: readonly string[]; readonly upTo: bigint };

/** What comes after `cursor`, or for how many ms there is nothing to do but to wait for a change. */
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

/** While the database is away the key cannot be checked, but no event can be read either: the stream stays open. */
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

/** One event of a stream, before it is written out. */
export type SentEvent = {
  /** What the client sends as `Last-Event-ID` when it comes back; null: no numbered event, so that stays as it was. */
  readonly id: bigint | null;
  readonly event: string;
  /** One line. */
  readonly data: string;
};

/** For how long a client waits before it comes back. Our choice: a restarted process is not overrun, and nobody notices. */
const RECONNECT_MS = 2_000;

/** An event as text. `data` is one line: JSON has line feeds only in its white space, and ours has none. */
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

/**
 * Reads a `Last-Event-ID`; null where it is no number of at most 40 digits. One that is greater than every event's means
 * that the database was restored to an earlier state.
 */
export function parseLastEventId(text: string): bigint | null {
  return /^\d{1,40}$/.test(text) ? BigInt(text) : null;
}

/** Joins texts to chunks of at least `size` characters, but for the last, and holds back no more than one of them. */
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

/** The Event of docs/api.md: findings are explained in words, everything else is as it was stored. */
export function eventView({ number, type, data, at, domain }: EventRow) {
  const stored = Object.entries(data as object); // an object: written by record_events() from a DomainEvent
  const shown = stored.map(([field, value]) => [
    field,
    findingFields.includes(field) ? findingsIn(value).map(explain) : value,
  ]);
  return { id: number, type, hostname: domain.hostname, at, data: Object.fromEntries(shown) };
}

/** The fields of events' data that hold findings (src/core/life/events.ts). */
const findingFields: readonly string[] = ['findings', 'appeared', 'cleared'];

/** Reads stored findings, and leaves out those that this version does not know: a newer one may run, or have run, here. */
export function findingsIn(stored: unknown): readonly Finding[] {
  const findings = stored as readonly Finding[]; // written by us only, always from Finding[]
  return findings.filter(({ code }) => Object.hasOwn(severities, code));
}
