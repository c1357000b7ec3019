/**
 * Server-sent events as the command line reads them (HTML Living Standard, 9.2.5 and 9.2.6), kept open across
 * interruptions.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { parseJson } from '../net/json.ts';
import type { Open, Opened } from './client.ts';

/**
 * What happens to a stream. `opened`: from now on nothing is missed; after an interruption, the events since the last
 * one follow. `alive`: a comment came, as one does every 15 s. `event`: `type` is its name and `data` its JSON, with
 * whole numbers as bigints; null where it is none. `away`: the connection is gone or was not made, and is tried
 * again. `refused`: the last message, after which nothing is tried.
 */
export type StreamMessage =
  | { readonly kind: 'opened' | 'alive' }
  | { readonly kind: 'event'; readonly type: string; readonly data: unknown }
  | { readonly kind: 'away' }
  | { readonly kind: 'refused'; readonly refusal: Extract<Opened, { ok: false }>['refusal'] };

/** Three heartbeats of the service: a connection that says nothing for so long is given up. */
const SILENCE_MS = 45_000;
/** Between two tries, unless the service names another time (`retry:`), which counts up to RETRY_MS_MAX. */
const RETRY_MS_DEFAULT = 2_000;
const RETRY_MS_MAX = 30_000;
/** Tries in a row that fail before it gives up. Our choice: a service that restarts is back sooner. */
const TRIES_MAX = 60;
/** More than any event has; whoever sends more is not Signpost. */
const EVENT_LENGTH_MAX = 1_048_576;

/** Where the stream is. `lastEventId`: the number of the newest event, null before the first one. */
type Place = { lastEventId: string | null; retryMs: number };

/**
 * Listens at a path until the signal ends it, and never throws. Comes back by itself with the last number after an
 * interruption, and gives up with `refused` where the service does not want it or 60 tries in a row fail. Interrupted
 * before the first event it has no number and begins at the present: `opened` is then the time to read what is
 * followed.
 */
export async function* listen(
  open: Open,
  path: string,
  signal: AbortSignal,
): AsyncGenerator<StreamMessage> {
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
      // Also where nobody wants to hear more.
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

/** Until the connection ends, however it does. */
async function* messagesIn(
  text: AsyncIterable<string>,
  place: Place,
  hangUp: () => void,
): AsyncGenerator<StreamMessage> {
  const timer = setTimeout(hangUp, SILENCE_MS);
  // The parser calls back while it is fed; what it found is passed on after each chunk, in order.
  const parsed: StreamMessage[] = [];
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
    // Broken off; whoever listens comes back.
  } finally {
    clearTimeout(timer);
  }
}

/** What an event says, once the place where the stream is has been noted. */
function messageOf({ id, event, data }: EventSourceMessage, place: Place): StreamMessage {
  if (id !== undefined && /^\d{1,40}$/.test(id)) place.lastEventId = id;
  const body = parseJson(new TextEncoder().encode(data));
  return { kind: 'event', type: event ?? 'message', data: body.ok ? body.value : null };
}
