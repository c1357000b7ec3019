/** Lists in pages of at most 100, each with a Link to the next one (RFC 8288). */
import { z } from 'zod';
import type { Page } from '../../db/page.ts';
import { cursorAfterPlace, placeOfCursor } from './cursor.ts';
import type { ApiResponse } from './errors.ts';
import { queryInteger } from './json.ts';

const LIMIT_MAX = 100;

/** Headers of a list's success. */
export const pageHeaders = { link: 'The next page as `rel="next"`, if there is one' } as const;

export function limitOf(what: string, fallback = LIMIT_MAX) {
  return queryInteger({ min: 1, max: LIMIT_MAX, default: fallback }).meta({
    description: `Maximum number of ${what} returned`,
  });
}

/** Undefined without a cursor. `parse` returns null for text that is not a cursor of the list. */
export function cursorOf<Place>(parse: (cursor: string) => Place | null) {
  return z
    .string()
    .transform(parse)
    .refine((place) => place !== null, 'must come from a Link header of this list')
    .optional()
    .meta({ description: 'Start of the page, taken from a `Link` header' });
}

/** For lists ordered by time and ID. */
export function pageFields(what: string, fallback?: number) {
  return { limit: limitOf(what, fallback), cursor: cursorOf(placeOfCursor) };
}

/** The query of such a list without filters. */
export function pageQuery(what: string) {
  return z.strictObject(pageFields(what));
}

/** Where the list is, and the query parameters that its next page repeats. */
export type ListAddress = {
  readonly path: string;
  readonly filters: Readonly<Record<string, string | number | null | undefined>>;
};

export function pageAnswer<Row>(
  page: Page<Row>,
  address: ListAddress,
  viewOf: (row: Row) => unknown,
): ApiResponse {
  return listAnswer(page.rows.map(viewOf), page.next && cursorAfterPlace(page.next), address);
}

/** `next`: the cursor of the next page; null on the last. */
export function listAnswer(
  body: readonly unknown[],
  next: string | null,
  { path, filters }: ListAddress,
): ApiResponse {
  if (next === null) return { status: 200, body };
  return { status: 200, body, headers: nextPage(path, next, filters) };
}

/** The Link to the next page; the filters stay. */
export function nextPage(
  path: string,
  cursor: string,
  filters: ListAddress['filters'],
): { readonly link: string } {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...filters, cursor })) {
    if (value !== null && value !== undefined) query.set(name, String(value));
  }
  return { link: `<${path}?${query}>; rel="next"` };
}
