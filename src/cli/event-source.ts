/** Server-sent events (HTML Living Standard, 9.2.5 and 9.2.6), with reconnects. */
import { setTimeout as wait } from 'node:timers/promises';
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { parseJson } from '../net/json.ts';
import type { Open, OpenedStream } from './client.ts';

/**
 * - `opened`: connected; no event is missed from now on, including those since the last one before
 *   an interruption.
 * - `alive`: a comment, the heartbeat.
 * - `event`: whole numbers in `data` are bigint; null if its JSON is invalid.
 * - `away`: disconnected; a retry follows.
 * - `refused`: the last message, without further retries.
 */
export type SseMessage =
  | { readonly kind: 'opened' | 'alive' }
  | { readonly kind: 'event'; readonly type: string; readonly data: unknown }
  | { readonly kind: 'away' }
  | { readonly kind: 'refused'; readonly refusal: Extract<OpenedStream, { ok: false }>['refusal'] };

/** Three heartbeats of the service; a connection that is silent for longer is closed. */
const SILENCE_MS = 45_000;
/** The service can change the delay (`retry:`), up to RETRY_MS_MAX. */
const RETRY_MS_DEFAULT = 2_000;
const RETRY_MS_MAX = 30_000;
/** Failed retries in a row before giving up. A restarting service is back sooner. */
const TRIES_MAX = 60;
/** Longer than any event of Signpost. */
const EVENT_LENGTH_MAX = 1_048_576;

/** `lastEventId`: number of the newest event, null before the first. */
type Place = { lastEventId: string | null; retryMs: number };

/**
 * Never throws. Gives up with `refused` if the service refuses or TRIES_MAX retries in a row fail.
 * If interrupted before the first event, it resumes with new events only; on `opened`, read the
 * current state again.
 */
export async function* readEvents(
  open: Open,
  path: string,
  signal: AbortSignal,
): AsyncGenerator<SseMessage> {
  const place: Place = { lastEventId: null, retryMs: RETRY_MS_DEFAULT };
  for (let tries = 1; !signal.aborted; tries += 1) {
    const connection = new AbortController();
    const hangUp = () => connection.abort();
    signal.addEventListener('abort', hangUp, { once: true });
    try {
      const opened = await open(path, resumingAt(place), connection.signal);
      if (signal.aborted) return;
      if (opened.ok) {
        tries = 0;
        yield { kind: 'opened' };
        yield* messagesIn(opened.text, place, hangUp);
      } else if (opened.isLasting || tries >= TRIES_MAX) {
        return yield { kind: 'refused', refusal: opened.refusal };
      }
    } finally {
      // Also runs if the consumer stops iterating.
      signal.removeEventListener('abort', hangUp);
      hangUp();
    }
    if (signal.aborted) return;
    yield { kind: 'away' };
    await wait(place.retryMs, undefined, { signal }).catch(() => {}); // the signal ends the loop
  }
}

function resumingAt({ lastEventId }: Place): Readonly<Record<string, string>> {
  return lastEventId === null ? {} : { 'last-event-id': lastEventId };
}

async function* messagesIn(
  text: AsyncIterable<string>,
  place: Place,
  hangUp: () => void,
): AsyncGenerator<SseMessage> {
  const timer = setTimeout(hangUp, SILENCE_MS);
  // The parser calls back synchronously; its results are yielded in order after each chunk.
  const parsed: SseMessage[] = [];
  const parser = createParser({
    maxBufferSize: EVENT_LENGTH_MAX, // past it, the next chunk is refused
    onComment: () => parsed.push({ kind: 'alive' }),
    onEvent: (event) => parsed.push(messageOf(event, place)),
    onRetry(ms) {
      place.retryMs = Math.min(ms, RETRY_MS_MAX);
    },
  });
  try {
    for await (const chunk of text) {
      timer.refresh();
      parser.feed(chunk);
      yield* parsed.splice(0);
    }
  } catch {
    // The connection broke; the caller reconnects.
  } finally {
    clearTimeout(timer);
  }
}

function messageOf({ id, event, data }: EventSourceMessage, place: Place): SseMessage {
  if (id !== undefined && /^\d{1,40}$/.test(id)) place.lastEventId = id;
  const body = parseJson(new TextEncoder().encode(data));
  return { kind: 'event', type: event ?? 'message', data: body.ok ? body.value : null };
}
