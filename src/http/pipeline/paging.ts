/** Lists in pages of at most 100 items and 1 MB, each with a Link to the next one (RFC 8288). */
import { setImmediate } from 'node:timers/promises';
import { z } from 'zod';
import type { Page } from '../../db/page.ts';
import { renderJson } from '../../net/json.ts';
import { placeOfCursor } from './cursor.ts';
import type { ApiResponse, ListAnswer } from './errors.ts';
import { queryInteger } from './json.ts';
import type { Route } from './route.ts';
import type { RouteMatch } from './router.ts';

type RouteFound = Extract<RouteMatch, { kind: 'route' }>;

const LIMIT_MAX = 100;

export function limitOf(what: string, fallback = LIMIT_MAX) {
  return queryInteger({ min: 1, max: LIMIT_MAX, default: fallback }).describe(
    `Maximum number of ${what} returned`,
  );
}

/** Undefined without a cursor. `parse` returns null for text that is not a cursor of the list. */
export function cursorOf<Place>(parse: (cursor: string) => Place | null) {
  return z
    .string()
    .transform(parse)
    .refine((place) => place !== null, 'must come from a Link header of this list')
    .optional()
    .describe('Start of the page, taken from a `Link` header');
}

/** For lists ordered by time and ID. */
export function pageFields(what: string, fallback?: number) {
  return { limit: limitOf(what, fallback), cursor: cursorOf(placeOfCursor) };
}

/** The query of such a list without filters. */
export function pageQuery(what: string) {
  return z.strictObject(pageFields(what));
}

/** Of JSON in UTF-8. Only a page of one item can be larger. */
export const PAGE_BYTES_MAX = 1_000_000;
/** A large page is rendered in pieces of this size, between which others' requests run. */
const PIECE_BYTES = 25_000;

/** Ends before the item that would make the page too large. Rows without a view are left out. */
export async function pageAnswer<Row, Place>(
  page: Page<Row, Place>,
  cursorAfter: (place: Place) => string,
  viewOf: (row: Row) => object | null,
): Promise<ListAnswer> {
  const { rows, next } = page;
  const items: string[] = [];
  let bytes = '[]'.length;
  let pieceEnds = PIECE_BYTES;
  let last: Row | undefined;
  for (const row of rows) {
    const view = viewOf(row);
    if (view !== null) {
      const item = renderJson(view);
      bytes += Buffer.byteLength(item) + ','.length;
      if (bytes > PAGE_BYTES_MAX && items.length > 0 && last !== undefined) {
        return pageOfJson(`[${items.join(',')}]`, cursorAfter(page.placeOf(last)));
      }
      items.push(item);
    }
    last = row;
    if (bytes > pieceEnds) {
      pieceEnds = bytes + PIECE_BYTES;
      await setImmediate();
    }
  }
  return pageOfJson(`[${items.join(',')}]`, next === null ? null : cursorAfter(next));
}

/** For text that cannot be too large. */
export function pageOfJson(text: string, next: string | null): ListAnswer {
  return { status: 200, text, next } as ListAnswer;
}

export const emptyPage = pageOfJson('[]', null);

/** The `Link` to the next page repeats the request's query with another cursor. */
export function withNextLink(
  { next, ...answer }: ApiResponse,
  { route, params, query }: Pick<RouteFound, 'route' | 'params' | 'query'>,
): ApiResponse {
  if (next === null || next === undefined) return answer;
  const path = route.path.replace(/:(\w+)/g, (_, name) => encodeURIComponent(params[name] ?? ''));
  const following = new URLSearchParams(query);
  following.set('cursor', next);
  return { ...answer, headers: { ...answer.headers, link: `<${path}?${following}>; rel="next"` } };
}

/** Whether its success can link to a next page. */
export function isPaged({ query }: Pick<Route, 'query'>): boolean {
  return query instanceof z.ZodObject && 'cursor' in query.shape;
}
