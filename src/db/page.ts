/** Lists are read in pages. A page continues after a place, which stays valid if its row goes away. */
import type { Prisma } from './generated/client.ts';

/** In a list ordered by time, then ID. */
export type ListPlace = { readonly at: Date; readonly id: string };

/** `after`: exclusive; null starts at the beginning. */
export type ListRange<Place = ListPlace> = {
  readonly after: Place | null;
  /** At least 1. */
  readonly limit: number;
};

/** `next`: to pass as `after`; null on the last page. */
export type Page<Row, Place = ListPlace> = {
  readonly rows: readonly Row[];
  readonly next: Place | null;
  /** To continue after this one of `rows` instead. */
  placeOf(row: Row): Place;
};

/** `rows`: one more than `limit` if another page follows. */
export function pageOf<Row, Place>(
  rows: readonly Row[],
  limit: number,
  placeOf: (row: Row) => Place,
): Page<Row, Place> {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  const next = rows.length > limit && last !== undefined ? placeOf(last) : null;
  return { rows: shown, next, placeOf };
}

const beyond = { asc: 'gt', desc: 'lt' } as const;

/** Part of a Prisma query on columns that an index has in the same order. */
export function beyondPlace(time: string, place: ListPlace | null, order: 'asc' | 'desc') {
  if (place === null) return {};
  const { at, id } = place;
  const further = beyond[order];
  return {
    [time]: { [`${further}e`]: at }, // where PostgreSQL starts in the index
    OR: [{ [time]: { [further]: at } }, { [time]: at, id: { [further]: id } }],
  };
}

/** A condition if the value is given. */
export function when<T>(value: T | undefined, condition: (value: T) => Prisma.Sql): Prisma.Sql[] {
  return value === undefined ? [] : [condition(value)];
}
