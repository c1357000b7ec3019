/** Fetches the page again after an event of the project. The pages work without this script. */
import './forms.ts';
import { refresh } from './refresh.ts';
import { move, startTicking } from './times.ts';

/** A short switch misses nothing; a longer one frees the connection. */
const HIDDEN_MS = 10_000;

const words = {
  live: 'Up to date',
  away: 'Reconnecting…',
  slow: 'Refreshing every 10 s',
} as const;

function show(state: keyof typeof words): void {
  const place = document.getElementById('liveness');
  if (place === null) return;
  place.dataset['state'] = state;
  const text = place.querySelector('.words');
  if (text !== null) text.textContent = words[state];
}

/** `changed`: the name servers' answers differ from the previous check. */
type Checked = {
  readonly attempts: number;
  readonly lastCheckedAt: string | null;
  readonly nextCheckAt: string | null;
  readonly changed: boolean;
};

/** `isFirst`: the stream starts with the last check, which can be newer than the page. */
function checked({ attempts, lastCheckedAt, nextCheckAt, changed }: Checked, isFirst: boolean) {
  const count = document.querySelector<HTMLElement>('[data-attempts]');
  if (count === null) return;
  const isAnother = count.dataset['attempts'] !== String(attempts);
  // “Checking now” has no time to update.
  const hasTime = document.querySelector('#task time[data-of="next-check"]') !== null;
  const isBehind = (isFirst && isAnother) || (nextCheckAt !== null && !hasTime);
  if (changed || isBehind) return void refresh();
  count.dataset['attempts'] = String(attempts);
  count.textContent = String(attempts);
  move('last-check', lastCheckedAt);
  move('next-check', nextCheckAt);
}

/** A hidden window disconnects after HIDDEN_MS and catches up once visible. Call it once. */
function listen(path: string, types: readonly string[]): void {
  const shown = new Set([...types, 'stream.reset']);
  let leave: (() => void) | null = null;
  let wasAway = false;
  let wasOpen = false;
  let isFirst = true;
  let timer = 0;

  function opened(): void {
    show('live');
    isFirst = true;
    wasOpen = true;
    if (wasAway) void refresh();
    wasAway = false;
  }

  function missing(state: 'away' | 'slow'): void {
    wasAway = true;
    show(state);
  }

  function onMessage({ type, data }: StreamMessage): void {
    if (type === 'open') opened();
    else if (type === 'away') missing('away');
    else if (type === 'moved') wasAway ||= wasOpen;
    else if (type === 'checked') {
      checked(JSON.parse(data), isFirst);
      isFirst = false;
    } else {
      if (type === 'poll') missing('slow');
      void refresh(); // for that event, or for one of `shown`
    }
  }

  function open(): void {
    clearTimeout(timer);
    leave ??= join(path, [...shown, 'checked'], onMessage);
  }

  function rest(): void {
    clearTimeout(timer);
    leave?.();
    leave = null;
    wasAway = true;
  }

  document.addEventListener('visibilitychange', () => {
    if (!document.hidden) return open();
    clearTimeout(timer);
    timer = setTimeout(rest, HIDDEN_MS);
  });
  addEventListener('pagehide', rest);
  addEventListener('pageshow', ({ persisted }) => persisted && !document.hidden && open());
  if (document.hidden) rest();
  else open();
}

// All windows at a path share one stream: the one with the Web Lock opens it and forwards.

/** Delay after the browser has given up; doubled from the first to the second value. */
const [RETRY_MS_MIN, RETRY_MS_MAX] = [2_000, 60_000];

/**
 * `open`, `away`: state of the stream. `moved`: another window opens it; messages in between are
 * lost. `poll`: fetch the page. Otherwise an event's type, with its JSON as `data`.
 */
type StreamMessage = { readonly type: string; readonly data: string };

/** Calls `onMessage` in every window. When this one leaves, another takes over the stream. */
function join(
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
async function whenFree(signal: AbortSignal, open: () => void, poll: () => void): Promise<void> {
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

startTicking();

const { events, types = '' } = document.getElementById('main')?.dataset ?? {};
if (events !== undefined) listen(events, types.split(' '));
