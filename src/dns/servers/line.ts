/** A FIFO queue of waiting callers. */
import { TIMER_MS_MAX } from '../../net/deadline.ts';
export type Line = {
  /** False at the deadline (on the clock of performance.now()). */
  readonly join: (deadline: number) => Promise<boolean>;
  /** Releases the first waiting caller; false if there is none. */
  readonly next: () => boolean;
  readonly isEmpty: () => boolean;
};

type Place = {
  readonly settle: (turn: boolean) => void;
  timer: NodeJS.Timeout | undefined;
  gone: boolean;
};

/** Compacts the list after this many abandoned entries. */
const TIDY = 64;

/** Each operation takes constant time. Only waiting callers have a timer. */
export function createLine(): Line {
  let places: Place[] = [];
  let head = 0;
  let waiting = 0;

  function leave(place: Place, turn: boolean): void {
    clearTimeout(place.timer);
    place.gone = true;
    waiting--;
    if (waiting === 0) {
      places = [];
      head = 0;
    }
    place.settle(turn);
  }

  function tidy(): void {
    if (head < TIDY || head * 2 < places.length) return;
    places = places.slice(head);
    head = 0;
  }

  function next(): boolean {
    while (head < places.length) {
      const place = places[head++];
      if (place === undefined || place.gone) continue;
      tidy();
      leave(place, true);
      return true;
    }
    return false;
  }

  return {
    join: (deadline) =>
      new Promise((settle) => {
        const place: Place = { settle, timer: undefined, gone: false };
        const leftMs = Math.min(deadline - performance.now(), TIMER_MS_MAX);
        place.timer = setTimeout(() => leave(place, false), leftMs);
        places.push(place);
        waiting++;
      }),
    next,
    isEmpty: () => waiting === 0,
  };
}
