/** The windows of one limit in one process, corrected by the store. */

import { LRUCache } from 'lru-cache';

/** A refused request consumes nothing. */
export type CountedRequest = {
  readonly allowed: boolean;
  readonly remaining: number;
  /** Rounded up, at least 1. */
  readonly resetSeconds: number;
};

type UsageReport = { readonly window: Window; readonly points: number };

/** Over all processes. */
export type Counted = { readonly used: number; readonly msLeft: number };

/** `at`: milliseconds since 1970. */
export type Windows = {
  /** `quota`: of this ID, if it has its own. */
  take(id: string, at: number, quota?: number): CountedRequest;
  /** Takes back one `take`, whose request turned out not to count. */
  giveBack(id: string, at: number): void;
  /** Urgent IDs first; marks them as reported. Drops ended windows. */
  due(max: number, at: number): readonly UsageReport[];
  /** Without an answer of the store, the count of this process stays. */
  acknowledge(report: UsageReport, counted: Counted, at: number): void;
  readonly isDue: boolean;
};

export type WindowsOptions = {
  readonly quota: number;
  readonly windowMs: number;
  /** If false, `due` stays empty. */
  readonly isShared: boolean;
};

/** Changed in place. The ID can still take the quota minus `own` and `others`. */
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
  /** By the store's last answer. */
  others: number;
};

/** A few megabytes under any number of addresses; the store keeps dropped counts. */
const MAX_WINDOWS = 20_000;
/** IDs with this share unreported come first, so that a flood of IDs cannot delay them. */
const URGENT_SHARE = 0.01;

/** A window starts with an ID's first request. Setting the clock back does not extend it. */
export function createWindows({ quota: usual, windowMs, isShared }: WindowsOptions): Windows {
  const urgentAt = Math.max(1, Math.floor(usual * URGENT_SHARE));
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
    if (known !== undefined && isCurrent(known, at, windowMs)) return known;
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
    take(id, at, quota = usual) {
      const window = current(id, at);
      const left = quota - window.own - window.others;
      const resetSeconds = Math.ceil((window.endsAt - at) / 1_000);
      if (left <= 0) return { allowed: false, remaining: 0, resetSeconds };
      window.own += 1;
      if (isShared) note(window);
      return { allowed: true, remaining: left - 1, resetSeconds };
    },
    giveBack: (id, at) => takeBack(current(id, at), isShared ? waiting : null),
    due(max, at) {
      const reports: UsageReport[] = [];
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

/** The second condition keeps a clock that was set back from extending a window. */
function isCurrent({ endsAt }: Window, at: number, windowMs: number): boolean {
  return endsAt > at && endsAt <= at + windowMs;
}

/** `waiting`: the windows to report, if they are shared. */
function takeBack(window: Window, waiting: Set<Window> | null): void {
  if (window.own === 0) return;
  window.own -= 1;
  if (waiting === null) return;
  window.unreported -= 1;
  waiting.add(window);
}
