/** Pages of lists whose order is that of a time and an id, whatever is added or removed between two pages. */

/** Where a page begins: after the row with this time and this id. */
export type Place = { readonly at: Date; readonly id: string };

/** A page. `after` null: from the first row. */
export type PageQuery = { readonly after: Place | null; readonly limit: number };

/** The longest page of the API, and the one that whoever says nothing gets. */
export const PAGE_MAX = 1_000;
/** What a list begins with. */
export const firstPage: PageQuery = { after: null, limit: PAGE_MAX };

/** What restricts a query to rows after a place, the oldest first, for Prisma's `AND`; the first condition is what an index is read from by. */
export function createdAfter(after: Place | null) {
  if (after === null) return {};
  const { at, id } = after;
  return {
    createdAt: { gte: at },
    OR: [{ createdAt: { gt: at } }, { id: { gt: id } }],
  };
}

/** The same where the newest come first. */
export function createdBefore(after: Place | null) {
  if (after === null) return {};
  const { at, id } = after;
  return {
    createdAt: { lte: at },
    OR: [{ createdAt: { lt: at } }, { id: { lt: id } }],
  };
}
