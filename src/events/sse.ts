/** Server-sent events as text (HTML Living Standard, 9.2.5). What is written here is all of the format that we use. */

export type SentEvent = {
  /** What the client names as `Last-Event-ID` when it comes back; null: this is none of the numbered ones. */
  readonly id: bigint | null;
  readonly event: string;
  /** One line. */
  readonly data: string;
};

/** Our choice: long enough that a process that restarts is not stormed, short enough that nobody notices. */
const RETRY_MS = 2_000;

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
  return id === null ? `retry: ${RETRY_MS}\n\n` : `retry: ${RETRY_MS}\nid: ${id}\n\n`;
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
