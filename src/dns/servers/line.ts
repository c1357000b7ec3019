/** Waiting callers whose owners take turns; those of one owner are served in order. */
import { TIMER_MS_MAX } from '../../net/deadline.ts';

export type Line = {
  /** False at the deadline (on the clock of performance.now()). */
  readonly join: (deadline: number, owner: string) => Promise<boolean>;
  /** Releases the next waiting caller; false if there is none. */
  readonly next: () => boolean;
  readonly isEmpty: () => boolean;
};

type Place = (turn: boolean) => void;

/** Each operation takes constant time. Only waiting callers have a timer. */
export function createLine(): Line {
  /** The next owner is the first. No set is empty. */
  const owners = new Map<string, Set<Place>>();

  function leave(owner: string, place: Place): Set<Place> {
    const places = owners.get(owner) ?? new Set();
    places.delete(place);
    if (places.size === 0) owners.delete(owner);
    return places;
  }

  return {
    join: (deadline, owner) =>
      new Promise((resolve) => {
        const place: Place = (turn) => {
          clearTimeout(timer);
          resolve(turn);
        };
        const giveUp = () => {
          leave(owner, place);
          place(false);
        };
        const leftMs = Math.min(deadline - performance.now(), TIMER_MS_MAX);
        const timer = setTimeout(giveUp, leftMs);
        owners.set(owner, (owners.get(owner) ?? new Set()).add(place));
      }),
    next() {
      for (const [owner, [place]] of owners) {
        if (place === undefined) continue;
        const others = leave(owner, place);
        if (owners.delete(owner)) owners.set(owner, others);
        place(true);
        return true;
      }
      return false;
    },
    isEmpty: () => owners.size === 0,
  };
}
