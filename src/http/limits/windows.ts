/** What one process knows of one limit: a window for each id, counted here and corrected by what the store says. */
import { LRUCache } from 'lru-cache';

/** What a request was told. `remaining` is after it; a refused one consumes nothing. */
export type Taken = {
  readonly allowed: boolean;
  readonly remaining: number;
  /** Seconds until the window ends, rounded up; 1 at least. */
  readonly resetSeconds: number;
};

/** Requests of one id that the store is to add to its count. */
export type Tell = { readonly window: Window; readonly points: number };

/** What the store counts for an id over all processes, and for how long still. */
export type Counted = { readonly used: number; readonly msLeft: number };

export type Windows = {
  take(id: string, at: number): Taken;
  /** At most `max` ids that the store has not heard of; they count as told. */
  due(max: number, at: number): readonly Tell[];
  /** Renews the view of an id by the store's answer. Without an answer, nothing needs to be done: own counts stay. */
  heard(tell: Tell, counted: Counted, at: number): void;
  /** Whether `due` has something to give. */
  readonly isDue: boolean;
};

export type WindowsOptions = {
  readonly quota: number;
  readonly windowMs: number;
  /** Whether a store is to be told; without one, `due` stays empty. */
  readonly isShared: boolean;
};

export type Window = {
  readonly id: string;
  endsAt: number;
  /** Taken in this process. */
  own: number;
  /** Of `own`, what the store has not been told. */
  unsaid: number;
  /** Of `own`, what the store has answered to. */
  told: number;
  /** Taken in other processes, as far as the store has said. */
  others: number;
};

/**
 * Our choice: at a few hundred octets each (docs/decisions/0006-rate-limits.md) some megabytes, whoever attacks with
 * however many addresses. The id that was quiet for longest is forgotten; the store still knows it.
 */
const MAX_WINDOWS = 20_000;
/** Our choice: an id with this share of the quota unsaid is told before all others, so that no flood of ids hides it. */
const URGENT_SHARE = 0.01;

/** A window begins with the first request of an id and lasts `windowMs`, or as long as the store's does. */
export function createWindows({ quota, windowMs, isShared }: WindowsOptions): Windows {
  const urgentAt = Math.max(1, Math.floor(quota * URGENT_SHARE));
  const urgent = new Set<Window>();
  const waiting = new Set<Window>();
  const forget = (window: Window) => {
    urgent.delete(window);
    waiting.delete(window);
  };
  const windows = new LRUCache<string, Window>({ max: MAX_WINDOWS, dispose: forget });

  function current(id: string, at: number): Window {
    const known = windows.get(id);
    // The second condition: a clock that was set back must not prolong a window.
    if (known !== undefined && known.endsAt > at && known.endsAt <= at + windowMs) return known;
    const begun = { id, endsAt: at + windowMs, own: 0, unsaid: 0, told: 0, others: 0 };
    windows.set(id, begun);
    return begun;
  }

  function note(window: Window): void {
    window.unsaid += 1;
    if (window.unsaid === 1) waiting.add(window);
    if (window.unsaid === urgentAt) urgent.add(window);
  }

  function* inTurn(): Generator<Window> {
    yield* urgent;
    yield* waiting;
  }

  return {
    take(id, at) {
      const window = current(id, at);
      const left = quota - window.own - window.others;
      const resetSeconds = Math.ceil((window.endsAt - at) / 1_000);
      if (left <= 0) return { allowed: false, remaining: 0, resetSeconds };
      window.own += 1;
      if (isShared) note(window);
      return { allowed: true, remaining: left - 1, resetSeconds };
    },
    due(max, at) {
      const tells: Tell[] = [];
      for (const window of inTurn()) {
        if (tells.length === max) break;
        forget(window);
        if (window.endsAt > at) tells.push({ window, points: window.unsaid });
        window.unsaid = 0;
      }
      return tells;
    },
    heard({ window, points }, { used, msLeft }, at) {
      window.told += points;
      window.others = Math.max(0, used - window.told);
      // A store that knows less than it was told has lost its window, and ours goes on.
      if (used >= window.told) window.endsAt = at + Math.min(msLeft, windowMs);
    },
    get isDue() {
      return waiting.size > 0;
    },
  };
}
