/** Lets a few of each key's go on at once, and has the others wait. */

/** Runs `act` once it is its turn: in the order in which those of the key came. Rejects as `act` does. */
export type InTurn = <T>(key: string, act: () => Promise<T>) => Promise<T>;

/** Of each key `atOnce` go on at a time. A key of which nothing is under way takes no memory. */
export function createInTurn(atOnce: number): InTurn {
  const lines = new Map<string, { underWay: number; readonly waiting: (() => void)[] }>();
  return async (key, act) => {
    const line = lines.get(key) ?? { underWay: 0, waiting: [] };
    lines.set(key, line);
    if (line.underWay < atOnce) line.underWay += 1;
    // Whoever ends hands its place over.
    else await new Promise<void>((resolve) => void line.waiting.push(resolve));
    try {
      return await act();
    } finally {
      const next = line.waiting.shift();
      if (next !== undefined) next();
      else {
        line.underWay -= 1;
        if (line.underWay === 0) lines.delete(key);
      }
    }
  };
}
