/** One stream: every event of a project after a number, in order, without duplicates. */

import type { Access } from '../core/access.ts';
import { explain, type Finding, severities } from '../core/diagnosis/findings.ts';
import { metadataIn } from '../core/metadata.ts';
import { isUnavailable } from '../db/engine/unavailable.ts';
import type { EventRow } from '../db/events.ts';
import { renderJson } from '../net/json.ts';
import type { CheckFeed, FollowingChecks } from './check-feed.ts';
import type { Feed, ReadPage } from './feed.ts';

export type EventStreamDeps = {
  readonly feed: Feed;
  readonly checkFeed: Pick<CheckFeed, 'follow'>;
  readonly page: ReadPage;
  readonly heartbeatMs?: number;
  readonly pageSize?: number;
};

/**
 * `id`: the domain whose checks are sent. Events are sent for the host name, also from before it was
 * removed and added again.
 */
export type StreamedDomain = { readonly id: string; readonly hostname: string };

export type StreamRequest = {
  readonly access: Access;
  readonly projectId: string;
  /** Null: events of every domain. */
  readonly domain: StreamedDomain | null;
  /** Whether to send the checks of that domain as well; no effect without a domain. */
  readonly checks: boolean;
  /** The number of the client's last event; null: only new events. */
  readonly after: bigint | null;
  /** The number of the newest event, just read. */
  readonly newest: bigint;
  /** Called every two seconds; false ends the stream. */
  readonly isKeyValid: () => Promise<boolean>;
  /** Called before each heartbeat; false ends the stream. */
  readonly isProjectVisible: () => Promise<boolean>;
};

/** Below the 30 s after which strict proxies close idle connections. */
const HEARTBEAT_MS = 15_000;
/** With the key's cache in src/http/routes/streams.ts, an ended key closes its streams within 5 s. */
export const KEY_CHECK_MS = 2_000;
const PAGE_SIZE = 100;
/** Approximate characters per chunk. */
const CHUNK_LENGTH = 16_384;
/** The wait before the next read during a database outage. */
const RETRY_MS = 500;

/** Continues after a database outage. Ends when the signal aborts or the key loses access. */
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
    const rechecks = createRechecks(request, heartbeatMs);
    while (!signal.aborted) {
      const newest = following.newest();
      const step = orChecked(await nextStep(deps, request, cursor, newest), checkFeed, cursor);
      if (typeof step === 'number') {
        await following.change(newest, Math.min(step, rechecks.waitMs()), signal);
      } else {
        cursor = step.upTo;
        yield* chunked(step.texts, CHUNK_LENGTH);
      }
      const beat = signal.aborted ? '' : await rechecks.next();
      if (beat === null) return;
      if (beat !== '') yield beat;
    }
  } finally {
    following.end();
    checkFeed.end();
  }
}

function createRechecks(
  { isKeyValid, isProjectVisible }: Pick<StreamRequest, 'isKeyValid' | 'isProjectVisible'>,
  heartbeatMs: number,
) {
  let keyCheckAt = performance.now() + KEY_CHECK_MS;
  let beatAt = performance.now() + heartbeatMs;
  return {
    waitMs: () => Math.min(beatAt, keyCheckAt) - performance.now(),
    /** The heartbeat, or nothing if it is not due. Null: the stream ends. */
    async next(): Promise<string | null> {
      if (performance.now() >= keyCheckAt) {
        if (!(await unlessAway(isKeyValid))) return null;
        keyCheckAt = performance.now() + KEY_CHECK_MS;
      }
      if (performance.now() < beatAt) return '';
      if (!(await unlessAway(isProjectVisible))) return null;
      beatAt = performance.now() + heartbeatMs;
      return heartbeat;
    },
  };
}

const noChecks: FollowingChecks = { next: () => null, end: () => {} };

function followChecks(
  { checkFeed }: EventStreamDeps,
  { checks, domain }: StreamRequest,
  onCheck: () => void,
): FollowingChecks {
  return checks && domain !== null ? checkFeed.follow(domain.id, onCheck) : noChecks;
}

/** If there is no event to send, sends the last check unless already sent. */
function orChecked(step: Step | number, { next }: FollowingChecks, cursor: bigint): Step | number {
  const checked = typeof step === 'number' ? next() : null;
  return checked === null ? step : { texts: [toCheckedText(checked)], upTo: cursor };
}

/** `upTo`: after these texts, the client has everything up to this number. */
type Step = { readonly texts: readonly string[]; readonly upTo: bigint };

/** What follows `cursor`, or how many ms to wait for a change. */
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

type EventPage = { readonly rows: readonly EventRow[]; readonly upTo: bigint };

/** Null during a database outage. `upTo`: everything up to this number was read. */
async function readPage(
  { page, pageSize = PAGE_SIZE }: EventStreamDeps,
  { access, projectId, domain }: StreamRequest,
  range: { readonly after: bigint; readonly upTo: bigint },
): Promise<EventPage | null> {
  try {
    const hostname = domain?.hostname ?? null;
    const rows = await page(access, { projectId, hostname, ...range, limit: pageSize });
    const last = rows.length < pageSize ? undefined : rows.at(-1);
    return { rows, upTo: last?.number ?? range.upTo };
  } catch (fault) {
    if (isUnavailable(fault)) return null;
    throw fault;
  }
}

/** During a database outage no event can be read either, so the stream stays open. */
async function unlessAway(check: () => Promise<boolean>): Promise<boolean> {
  try {
    return await check();
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
  /** The client's `Last-Event-ID` when it reconnects; null leaves it unchanged. */
  readonly id: bigint | null;
  readonly event: string;
  /** One line. */
  readonly data: string;
};

/** Spreads the load after a restart, but is hardly noticeable. */
const RECONNECT_MS = 2_000;

/** `data` is one line: JSON has line feeds only as white space, which renderJson omits. */
export function sentEvent({ id, event, data }: SentEvent): string {
  const numbered = id === null ? '' : `id: ${id}\n`;
  return `${numbered}event: ${event}\ndata: ${data}\n\n`;
}

/** An id without data is no event for the client, but becomes its `Last-Event-ID`. */
export function opening(id: bigint | null): string {
  return id === null ? `retry: ${RECONNECT_MS}\n\n` : `retry: ${RECONNECT_MS}\nid: ${id}\n\n`;
}

/** A comment: clients ignore it, and proxies see that the connection is in use. */
export const heartbeat = ': heartbeat\n\n';

/** Null if invalid. Above every event's number: the database was restored. */
export function parseLastEventId(text: string): bigint | null {
  return /^\d{1,40}$/.test(text) ? BigInt(text) : null;
}

/** Chunks of at least `size` characters, except the last. */
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

/** The Event of docs/integrate/events.md. */
export function eventView({ number, type, data, at, domain, domainId, ...row }: EventRow) {
  const stored = Object.entries(data as object); // an object: written by record_events() from a DomainEvent
  const shown = stored.map(([field, value]) => [
    field,
    findingFields.includes(field) ? findingsIn(value).map(explain) : value,
  ]);
  return {
    id: number,
    type,
    hostname: domain.hostname,
    domainId,
    at,
    data: Object.fromEntries(shown),
    metadata: metadataIn(row.metadata?.value ?? row.metadataCopy),
    projectMetadata: metadataIn(row.projectMetadata?.value ?? row.projectMetadataCopy),
  };
}

const findingFields: readonly string[] = ['findings', 'appeared', 'cleared'];

/** Omits unknown codes, which a newer version may have written. */
export function findingsIn(stored: unknown): readonly Finding[] {
  const findings = stored as readonly Finding[]; // only written here, always from Finding[]
  return findings.filter(({ code }) => Object.hasOwn(severities, code));
}
