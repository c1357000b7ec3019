/** The windows of one limit in one process: one per ID, counted here and corrected by the store. */

import { LRUCache } from 'lru-cache';

/** The result of counting one request. A refused one consumes nothing. */
export type CountedRequest = {
  readonly allowed: boolean;
  /** Requests left in the window after this one. */
  readonly remaining: number;
  /** Seconds until the window ends, rounded up, at least 1. */
  readonly resetSeconds: number;
};

/** Requests of one ID to add to the store's count. */
type Report = { readonly window: Window; readonly points: number };

/** The store's count for an ID over all processes, and the remaining time of its window. */
export type Counted = { readonly used: number; readonly msLeft: number };

/** `at` is the current time in milliseconds since 1970. */
export type Windows = {
  /** Counts a request; starts a window for an ID that has none. */
  take(id: string, at: number): CountedRequest;
  /**
   * Takes at most `max` IDs with unreported requests, urgent ones first, and marks them as
   * reported. Ended windows are dropped.
   */
  due(max: number, at: number): readonly Report[];
  /** Corrects an ID by the store's answer. Without an answer, the count of this process stays. */
  acknowledge(report: Report, counted: Counted, at: number): void;
  /** Whether requests are unreported. */
  readonly isDue: boolean;
};

export type WindowsOptions = {
  /** Requests that an ID can make in one window. */
  readonly quota: number;
  readonly windowMs: number;
  /** Whether requests are reported to a store. If false, `due` stays empty. */
  readonly isShared: boolean;
};

/** The counts of one ID, changed in place. It can still take the quota minus `own` and `others`. */
type Window = {
  readonly id: string;
  /** Milliseconds since 1970, by the clock of this process. */
  endsAt: number;
  /** Requests in this process. */
  own: number;
  /** The part of `own` that is not reported to the store. */
  unreported: number;
  /** The part of `own` that the store has acknowledged. */
  reported: number;
  /** Requests in other processes, by the store's last answer. */
  others: number;
};

/**
 * Bounds memory to a few megabytes under any number of addresses
 * (docs/decisions/0006-rate-limits.md). The least recently used ID is dropped; the store still has
 * its count.
 */
const MAX_WINDOWS = 20_000;
/**
 * IDs with this share of their quota unreported are reported first, so that a flood of IDs cannot
 * delay them.
 */
const URGENT_SHARE = 0.01;

/**
 * A window starts with the first request of an ID and lasts `windowMs`, or as long as the store's
 * window. Setting the clock back does not extend it. Keeps at most 20,000 IDs.
 */
export function createWindows({ quota, windowMs, isShared }: WindowsOptions): Windows {
  const urgentAt = Math.max(1, Math.floor(quota * URGENT_SHARE));
  const urgent = new Set<Window>();
  const waiting = new Set<Window>();
  // Also called for windows that are replaced or evicted; their requests are not reported.
  const forget = (window: Window) => {
    urgent.delete(window);
    waiting.delete(window);
  };
  const windows = new LRUCache<string, Window>({ max: MAX_WINDOWS, dispose: forget });

  function current(id: string, at: number): Window {
    const known = windows.get(id);
    // The second condition keeps a clock that was set back from extending a window.
    if (known !== undefined && known.endsAt > at && known.endsAt <= at + windowMs) return known;
    const begun = { id, endsAt: at + windowMs, own: 0, unreported: 0, reported: 0, others: 0 };
    windows.set(id, begun);
    return begun;
  }

  function note(window: Window): void {
    window.unreported += 1;
    if (window.unreported === 1) waiting.add(window);
    if (window.unreported === urgentAt) urgent.add(window);
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
      const reports: Report[] = [];
      for (const window of inTurn()) {
        if (reports.length === max) break;
        forget(window);
        if (window.endsAt > at) reports.push({ window, points: window.unreported });
        window.unreported = 0;
      }
      return reports;
    },
    acknowledge({ window, points }, { used, msLeft }, at) {
      window.reported += points;
      window.others = Math.max(0, used - window.reported);
      // A store that counts less than was reported has lost its window; ours continues.
      if (used >= window.reported) window.endsAt = at + Math.min(msLeft, windowMs);
    },
    get isDue() {
      return waiting.size > 0;
    },
  };
}
