/** A line in which questions wait for their turn: first come, first served, and nobody longer than they can. */

export type Line = {
  /** Resolves with true when the turn comes, with false at the deadline (on the clock of performance.now()). */
  readonly join: (deadline: number) => Promise<boolean>;
  /** Lets the first one go that still waits; false: nobody does. */
  readonly next: () => boolean;
  readonly isEmpty: () => boolean;
};

type Place = {
  readonly settle: (turn: boolean) => void;
  timer: NodeJS.Timeout | undefined;
  gone: boolean;
};

/** The longest that a timer of Node can be; longer ones would end at once. */
const TIMER_MS_MAX = 2 ** 31 - 1;
/** How many places that are left behind are worth tidying up. */
const TIDY = 64;

/** Each step takes the same time however long the line is, and nothing but those who wait keeps a timer. */
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
