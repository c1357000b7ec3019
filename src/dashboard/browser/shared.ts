/** All windows at a path share one stream: the one with the Web Lock opens it and forwards. */
import { refresh } from './refresh.ts';

/** Delay after the browser has given up; doubled from the first to the second value. */
const [RETRY_MS_MIN, RETRY_MS_MAX] = [2_000, 60_000];

/**
 * `open`, `away`: state of the stream. `moved`: another window opens it; messages in between are
 * lost. `poll`: fetch the page. Otherwise an event's type, with its JSON as `data`.
 */
export type StreamMessage = { readonly type: string; readonly data: string };

/** Calls `onMessage` in every window. When this one leaves, another takes over the stream. */
export function join(
  path: string,
  types: readonly string[],
  onMessage: (message: StreamMessage) => void,
): () => void {
  const name = `signpost ${path}`;
  const channel = new BroadcastChannel(name);
  const leaving = new AbortController();
  const { signal } = leaving;
  let stream: EventSource | null = null;
  let retryMs = RETRY_MS_MIN;
  let timer = 0;

  function broadcast(message: StreamMessage): void {
    onMessage(message);
    channel.postMessage(message);
  }

  function open(): void {
    if (signal.aborted) return;
    const opened = new EventSource(path);
    stream = opened;
    opened.addEventListener('open', () => {
      retryMs = RETRY_MS_MIN;
      broadcast({ type: 'open', data: '' });
    });
    for (const type of types) {
      opened.addEventListener(type, ({ data }) => broadcast({ type, data }));
    }
    opened.addEventListener('error', () => {
      broadcast({ type: 'away', data: '' });
      if (opened.readyState === EventSource.CLOSED) again();
    });
  }

  /** The browser gives up on responses that are not a stream: errors, or the sign-in page. */
  function again(): void {
    clearTimeout(timer);
    timer = setTimeout(() => void refresh().then(open, open), retryMs);
    retryMs = Math.min(RETRY_MS_MAX, retryMs * 2);
  }

  channel.addEventListener('message', ({ data: message }) => {
    if (message.type !== 'join') return onMessage(message);
    if (stream?.readyState === EventSource.OPEN) channel.postMessage({ type: 'open', data: '' });
  });

  const hold = () =>
    new Promise<void>((done) => {
      signal.addEventListener('abort', () => done());
      broadcast({ type: 'moved', data: '' });
      void whenFree(signal, open, () => broadcast({ type: 'poll', data: '' }));
    });
  navigator.locks.request(name, { signal }, hold).catch(() => {
    // The window left before it got the lock.
  });
  // The stream's owner answers `open`, which this window missed.
  channel.postMessage({ type: 'join', data: '' });

  return () => {
    leaving.abort();
    clearTimeout(timer);
    stream?.close();
    channel.close();
  };
}

/** Per browser. Browsers open six connections per host over HTTP/1.1; two stay free for pages. */
const STREAMS_MAX = 4;

const POLL_MS = 10_000;

/** Calls `open` once this window has a connection, kept until the signal. Until then, polls. */
export async function whenFree(
  signal: AbortSignal,
  open: () => void,
  poll: () => void,
): Promise<void> {
  if (await hasOne(signal)) return open();
  if (signal.aborted) return;
  poll();
  const timer = setTimeout(() => void whenFree(signal, open, poll), POLL_MS);
  signal.addEventListener('abort', () => clearTimeout(timer));
}

async function hasOne(signal: AbortSignal): Promise<boolean> {
  for (let number = 0; number < STREAMS_MAX; number += 1) {
    if (await holds(`signpost connection ${number}`, signal)) return true;
  }
  return false;
}

/** Takes a free lock and keeps it until the signal; false if it is taken. */
function holds(name: string, signal: AbortSignal): Promise<boolean> {
  return new Promise((settle, fail) => {
    const use = (lock: Lock | null) => {
      const isOurs = lock !== null && !signal.aborted;
      settle(isOurs);
      return isOurs
        ? new Promise<void>((done) => signal.addEventListener('abort', () => done()))
        : null;
    };
    navigator.locks.request(name, { ifAvailable: true }, use).catch(fail);
  });
}
