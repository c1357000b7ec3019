/** Fetches the page again after an event of the project. The pages work without this script. */
import './forms.ts';
import { refresh } from './refresh.ts';
import { join, type StreamMessage } from './shared.ts';
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

startTicking();

const { events, types = '' } = document.getElementById('main')?.dataset ?? {};
if (events !== undefined) listen(events, types.split(' '));
