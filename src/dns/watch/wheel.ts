/** A timing wheel: what is due in the same short slot of time stands together, so a million waits need one timer. */

/** Items that wait for their time. All times are in ms on one steady clock. */
export type Wheel<T> = {
  /** An item may be added several times, and comes as often. One that is overdue comes with the next `due`. */
  readonly add: (item: T, dueAt: number) => void;
  /** Takes out what is due by `now`, the earliest slot first; never anything before its time. */
  readonly due: (now: number) => readonly T[];
};

/** `slotMs`: by so much an item is late at most, beside the time until `due` is called. */
export function createWheel<T>(slotMs: number, startedAt: number): Wheel<T> {
  const slots = new Map<number, T[]>();
  /** The last slot that was taken out. */
  let taken = Math.floor(startedAt / slotMs) - 1;

  return {
    add(item, dueAt) {
      // Rounded up: never before its time.
      const slot = Math.max(taken + 1, Math.ceil(dueAt / slotMs));
      const others = slots.get(slot);
      if (others === undefined) slots.set(slot, [item]);
      else others.push(item);
    },
    due(now) {
      const last = Math.floor(now / slotMs);
      const found: T[][] = [];
      while (taken < last) {
        taken += 1;
        const items = slots.get(taken);
        if (items === undefined) continue;
        slots.delete(taken);
        found.push(items);
      }
      return found.length === 1 ? (found[0] ?? []) : found.flat();
    },
  };
}
