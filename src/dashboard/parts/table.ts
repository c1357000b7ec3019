/** Lists on narrow screens unless dense. That CSS removes implicit ARIA roles, so they are explicit. */
import { attribute, type Html, html } from '../../net/html.ts';

export type Column<Row> = {
  /** Also shown beside each cell on narrow screens. */
  readonly heading: string;
  readonly cell: (row: Row) => Html | string;
  /** Marks the cell that is its row's header. */
  readonly names?: true;
  /** `wide`, `name`, `n` (numbers), `measured` and `hide-phone` have styles. */
  readonly className?: string;
};

/** `caption`: for screen readers only. `dense`: a few narrow columns, which fit on a phone. */
export function table<Row>(
  caption: string,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  width: 'wide' | 'dense' = 'wide',
): Html {
  return html`<div class="card table-card"><table class="table ${width}" role="table"><caption class="unseen">${caption}</caption>
<thead role="rowgroup"><tr role="row">${columns.map(({ heading, className }) => html`<th role="columnheader" scope="col"${attribute('class', className ?? null)}>${heading}</th>`)}</tr></thead>
<tbody role="rowgroup">
${rows.map((row) => html`<tr role="row">${columns.map((column) => cellOf(column, row))}</tr>`)}
</tbody></table></div>`;
}

function cellOf<Row>({ heading, cell, names, className }: Column<Row>, row: Row): Html {
  const more = html`${attribute('class', className ?? null)}${attribute('data-heading', heading)}`;
  return names === true
    ? html`<th role="rowheader" scope="row"${more}><span>${cell(row)}</span></th>`
    : html`<td role="cell"${more}><span>${cell(row)}</span></td>`;
}

/** In order; null is skipped. */
export function facts(
  entries: readonly (readonly [term: string, said: Html | string] | null)[],
): Html {
  const shown = entries.filter((entry) => entry !== null);
  return html`<dl class="facts">${shown.map(([term, said]) => html`<div><dt>${term}</dt><dd>${said}</dd></div>`)}</dl>`;
}

/** The API's path of a page of a list: the first one without a cursor. `filters`: names of parameters. */
export function pagePath(
  path: string,
  query: URLSearchParams,
  size: number,
  filters: readonly string[] = [],
): string {
  const asked = new URLSearchParams({ limit: String(size), ...given(query, filters) });
  const cursor = query.get('cursor');
  if (cursor !== null) asked.set('cursor', cursor);
  return `${path}?${asked}`;
}

/** Without empty ones, which a form sends for fields without input. */
export function given(query: URLSearchParams, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = query.get(name)?.trim() ?? '';
      return value === '' ? [] : [[name, value]];
    }),
  );
}

/** Null for a single page. `path`: of the first page; `next`: the API's path of the next page. */
export function pager(
  query: URLSearchParams,
  next: string | undefined,
  path: string,
  filters: readonly string[] = [],
): Html | null {
  const isFirst = query.get('cursor') === null;
  if (isFirst && next === undefined) return null;
  const cursor = new URLSearchParams(next?.split('?')[1]).get('cursor') ?? '';
  const kept = given(query, filters);
  const first = new URLSearchParams(kept).toString();
  return html`<nav class="pager" aria-label="Pages">
${isFirst ? null : html`<a class="btn sm" href="${path}${first === '' ? '' : `?${first}`}">First page</a>`}
${next === undefined ? null : html`<a class="btn sm push" rel="next" href="${path}?${new URLSearchParams({ ...kept, cursor }).toString()}">Next page</a>`}
</nav>`;
}
