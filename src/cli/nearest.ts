/** What somebody may have meant who mistyped a name. */

/** Of the names the one that is the fewest slips away, where that is near enough to be meant. */
export function nearest(typed: string, names: readonly string[]): string | undefined {
  if (typed.length > TYPED_LENGTH_MAX) return undefined;
  const slips = names.map((name) => [slipsBetween(typed.toLowerCase(), name), name] as const);
  const [best] = slips.sort(([a], [b]) => a - b);
  return best !== undefined && best[0] <= slipsAllowed(typed) ? best[1] : undefined;
}

const TYPED_LENGTH_MAX = 30;

/** Our choice: one in three letters, two at most; of shorter words any would be near to any other. */
function slipsAllowed(typed: string): number {
  return Math.min(2, Math.floor(typed.length / 3));
}

/** How many letters to add, drop, change or swap with the next one: optimal string alignment. */
function slipsBetween(one: string, other: string): number {
  const rows: number[][] = [Array.from({ length: other.length + 1 }, (_, at) => at)];
  for (let i = 1; i <= one.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= other.length; j += 1) {
      const same = one[i - 1] === other[j - 1] ? 0 : 1;
      const swapped = one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      row[j] = Math.min(
        at(rows, i - 1, j) + 1,
        (row[j - 1] ?? 0) + 1,
        at(rows, i - 1, j - 1) + same,
        swapped ? at(rows, i - 2, j - 2) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    rows.push(row);
  }
  return at(rows, one.length, other.length);
}

/** Outside of the table nothing is near. */
function at(rows: readonly (readonly number[])[], i: number, j: number): number {
  return rows[i]?.[j] ?? Number.POSITIVE_INFINITY;
}
