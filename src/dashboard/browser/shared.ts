/**
 * One stream for all windows of a browser that listen at the same path. Who holds the lock has the stream open and
 * passes its messages on (Web Locks, BroadcastChannel). Where no connection is left for it, all of them ask for the
 * page every 10 s.
 */
import { refresh } from './refresh.ts';

/** Between two tries after the browser has given up; doubled each time, from the first to the second figure. */
const [RETRY_MS_MIN, RETRY_MS_MAX] = [2_000, 60_000];

/**
 * `open` and `away` of the stream itself; `moved`: another window opens it, and what came in between reached no window;
 * `poll`: there is no stream for now, and the page is to be asked for; or the type of an event. `data`: the JSON of
 * an event, else empty.
 */
export type StreamMessage = { readonly type: string; readonly data: string };

/**
 * Joins the windows that listen at `path`. `onMessage` is called for the stream's messages and for events of `types`,
 * in every window. Returns what leaves; another window then takes the stream over.
 */
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

  /** The browser gives up where it is answered anything but a stream: too many of them, or the sign-in. */
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
    // Left before it was our turn.
  });
  // Who holds the stream answers that it is open, which this window could not have seen.
  channel.postMessage({ type: 'join', data: '' });

  return () => {
    leaving.abort();
    clearTimeout(timer);
    stream?.close();
    channel.close();
  };
}

/**
 * How many streams a browser has, over all paths: it opens six connections to a host over HTTP/1.1. Our choice: two
 * are left for pages and what they ask for.
 */
const STREAMS_MAX = 4;

/** Our choice: so many windows side by side are seldom, and each answer is a whole page. */
const POLL_MS = 10_000;

/**
 * Calls `open` once there is a connection for this window, which has it until the signal. Until then it calls `poll`
 * now and every 10 s.
 */
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

/** Takes the first of the connections' locks that is free. */
async function hasOne(signal: AbortSignal): Promise<boolean> {
  for (let number = 0; number < STREAMS_MAX; number += 1) {
    if (await holds(`signpost connection ${number}`, signal)) return true;
  }
  return false;
}

/** Takes a lock where it is free, and keeps it until the signal; false where it is not. */
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
