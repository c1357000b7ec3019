/** Waiting callers whose owners take turns; those of one owner are served in order. */
import { TIMER_MS_MAX } from '../../net/deadline.ts';

export type Line = {
  /** False at the deadline (on the clock of performance.now()). */
  readonly join: (deadline: number, owner: string) => Promise<boolean>;
  /** Releases the next waiting caller; false if there is none. */
  readonly next: () => boolean;
  readonly isEmpty: () => boolean;
};

type Place = {
  readonly settle: (turn: boolean) => void;
  timer: NodeJS.Timeout | undefined;
  gone: boolean;
};

type Fifo = { places: Place[]; head: number };

/** Compacts the list after this many abandoned entries. */
const TIDY = 64;

/** Each operation takes constant time per owner. Only waiting callers have a timer. */
export function createLine(): Line {
  /** The next owner is the first. */
  const owners = new Map<string, Fifo>();
  let waiting = 0;

  function leave(place: Place, turn: boolean): void {
    clearTimeout(place.timer);
    place.gone = true;
    waiting--;
    if (waiting === 0) owners.clear();
    place.settle(turn);
  }

  function next(): boolean {
    for (const [owner, fifo] of owners) {
      owners.delete(owner);
      const place = takeFirst(fifo);
      if (place === undefined) continue;
      if (fifo.head < fifo.places.length) owners.set(owner, fifo);
      leave(place, true);
      return true;
    }
    return false;
  }

  return {
    join: (deadline, owner) =>
      new Promise((settle) => {
        const place: Place = { settle, timer: undefined, gone: false };
        const leftMs = Math.min(deadline - performance.now(), TIMER_MS_MAX);
        place.timer = setTimeout(() => leave(place, false), leftMs);
        const fifo = owners.get(owner) ?? { places: [], head: 0 };
        fifo.places.push(place);
        owners.set(owner, fifo);
        waiting++;
      }),
    next,
    isEmpty: () => waiting === 0,
  };
}

/** Skips those who gave up; undefined if none is left. */
function takeFirst(fifo: Fifo): Place | undefined {
  while (fifo.head < fifo.places.length) {
    const place = fifo.places[fifo.head++];
    if (fifo.head >= TIDY && fifo.head * 2 >= fifo.places.length) {
      fifo.places = fifo.places.slice(fifo.head);
      fifo.head = 0;
    }
    if (place !== undefined && !place.gone) return place;
  }
  return undefined;
}
