/**
 * One stream for all windows of a browser that listen at the same path. Who holds the lock has the stream open and tells the
 * others (Web Locks, BroadcastChannel); where no connection is left for it, they look now and then until one is.
 */
import { whenFree } from './connections.ts';
import { refresh } from './refresh.ts';

const [RETRY_MS_MIN, RETRY_MS_MAX] = [2_000, 60_000];

/**
 * `open` and `away` of the stream itself; `moved`: another window opens it, and what came meanwhile nobody has heard; `look`:
 * there is none for now, and the page is to be asked for; or the type of an event.
 */
export type StreamMessage = { readonly type: string; readonly data: string };

/** Gives back what leaves; another window then takes the stream over. */
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
    timer = setTimeout(() => void refresh().then(open), retryMs);
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
  channel.postMessage({ type: 'join', data: '' });

  return () => {
    leaving.abort();
    clearTimeout(timer);
    stream?.close();
    channel.close();
  };
}
