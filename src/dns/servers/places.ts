/** At most two queries at once per address and port. */
import type { QueryBudget } from '../wire/budget.ts';
import type { WireAnswer } from '../wire/exchange.ts';
import { NOT_ASKED } from '../wire/tries.ts';
import { createLine, type Line } from './line.ts';

/** Keeps going while one answer is slow, without burdening a small server. */
const AT_ONCE = 2;

export type Places = {
  /** False at the budget's deadline. */
  readonly enter: (key: string, budget: QueryBudget) => boolean | Promise<boolean>;
  /** Call it once for each time that `enter` returned true. */
  readonly leave: (key: string) => void;
};

/** `line`: created when the first caller has to wait. */
type Place = { underWay: number; line: Line | undefined };

/** A server uses memory only while it is queried. */
export function createPlaces(): Places {
  const busy = new Map<string, Place>();
  return {
    enter(key, { deadline, owner }) {
      const place = busy.get(key);
      if (place === undefined) {
        busy.set(key, { underWay: 1, line: undefined });
        return true;
      }
      // A free slot implies an empty queue, because `leave` releases the next caller.
      if (place.underWay >= AT_ONCE) {
        place.line ??= createLine();
        return place.line.join(deadline, owner);
      }
      place.underWay++;
      return true;
    },
    leave(key) {
      const place = busy.get(key);
      if (place === undefined || place.line?.next()) return;
      place.underWay--;
      if (place.underWay === 0) busy.delete(key);
    },
  };
}

/** `not_asked` at the budget's deadline. */
export async function inPlace(
  places: Places,
  key: string,
  budget: QueryBudget,
  act: () => Promise<WireAnswer>,
): Promise<WireAnswer> {
  if (!(await places.enter(key, budget))) return NOT_ASKED;
  try {
    return await act();
  } finally {
    places.leave(key);
  }
}
