/** Lists that come in pages: what their queries take, and the link to the page that follows. */
import { z } from 'zod';
import { PAGE_MAX, type PageQuery, type Place } from '../../db/engine/page.ts';
import { cursorAfterRow, rowOfCursor } from './cursor.ts';
import { queryInteger } from './json.ts';

/** The query parameters of a list. `cursor` is parsed to the place that the page starts after; `limit` is a number. */
export function pageFields(what: string, isId: (text: string) => boolean) {
  return {
    limit: queryInteger({ min: 1, max: PAGE_MAX, default: PAGE_MAX }).meta({
      description: `Maximum number of ${what} returned`,
    }),
    cursor: z
      .string()
      .transform((text) => rowOfCursor(text, isId))
      .refine((place) => place !== null, 'must be one that this list linked to')
      .optional()
      .meta({ description: 'Where the page starts: taken from a `Link`, never made by hand' }),
  };
}

/** What such a query asks a store for: one row more than the page has, which says whether another one follows. */
export function asked({
  limit,
  cursor,
}: {
  readonly limit: number;
  readonly cursor?: Place | null | undefined;
}): PageQuery {
  return { after: cursor ?? null, limit: limit + 1 };
}

/** What `success.headers` of a list says of its link. */
export function linkDocs(what: string) {
  return { link: `Where more ${what} follow: the next page, as \`rel="next"\`` };
}

/** A list's own path, and the filters of the request, which the next page has as well. */
export type Listed = {
  readonly path: string;
  readonly limit: number;
  readonly filters?: Readonly<Record<string, string | undefined>>;
};

/** The rows of the page, and the headers with the link to the next one where there is one. `rows`: of what `asked` gave. */
export function pageOf<Row>(
  rows: readonly Row[],
  placeOf: (row: Row) => Place,
  { path, limit, filters = {} }: Listed,
): { readonly rows: readonly Row[]; readonly headers: Readonly<Record<string, string>> } {
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  if (rows.length <= limit || last === undefined) return { rows: page, headers: {} };
  const target = new URLSearchParams({ limit: String(limit) });
  for (const [name, value] of Object.entries(filters)) {
    if (value !== undefined) target.set(name, value);
  }
  target.set('cursor', cursorAfterRow(placeOf(last)));
  return { rows: page, headers: { link: `<${path}?${target}>; rel="next"` } };
}

/** The place of a row in the order of its making. */
export function placeOfMade({ createdAt, id }: { readonly createdAt: Date; readonly id: string }) {
  return { at: createdAt, id };
}
