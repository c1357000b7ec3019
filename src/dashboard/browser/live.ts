/**
 * What makes a page move: after an event of its project the page is asked for again, and the parts that changed are put in
 * the place of the old ones. Nothing is asked for while nothing happens. Without this script every page still reads.
 */
import './forms.ts';
import { refresh } from './refresh.ts';
import { join, type StreamMessage } from './shared.ts';
import { move, startTicking } from './times.ts';

/**
 * How long a hidden window stays connected. Our choice: who changes to another window for a moment misses nothing,
 * and who stays there leaves the connection to it.
 */
const HIDDEN_MS = 10_000;

const words = { live: 'Watching', away: 'Reconnecting', slow: 'Refreshing every 10 s' } as const;

/** Says beside the heading whether the page moves by itself. */
function show(state: keyof typeof words): void {
  const place = document.getElementById('liveness');
  if (place === null) return;
  place.dataset['state'] = state;
  const text = place.querySelector('.words');
  if (text !== null) text.textContent = words[state];
}

/**
 * One check, as the API's stream reports it. `changed`: the name servers showed something else than at the one
 * before.
 */
type Checked = {
  readonly attempts: number;
  readonly lastCheckedAt: string | null;
  readonly nextCheckAt: string | null;
  readonly changed: boolean;
};

/**
 * A check that found nothing new moves the times; any other shows the page again. `isFirst`: the stream begins with
 * the last check, which the page may be older than.
 */
function checked({ attempts, lastCheckedAt, nextCheckAt, changed }: Checked, isFirst: boolean) {
  const count = document.querySelector<HTMLElement>('[data-attempts]');
  if (count === null) return;
  const isAnother = count.dataset['attempts'] !== String(attempts);
  // “A check is under way” has no time that could be moved.
  const hasTime = document.querySelector('#summary time[data-of="next-check"]') !== null;
  const isBehind = (isFirst && isAnother) || (nextCheckAt !== null && !hasTime);
  if (changed || isBehind) return void refresh();
  count.dataset['attempts'] = String(attempts);
  count.textContent = String(attempts);
  move('last-check', lastCheckedAt);
  move('next-check', nextCheckAt);
}

/**
 * Listens at a path of ours, for as long as the window is open; each of `types` shows the page again. A window that
 * nobody sees asks for nothing after 10 s, and catches up once it is seen. Call it once.
 */
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
      void refresh(); // for that, or for one of `shown`
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
