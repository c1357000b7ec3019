/** Lists on narrow screens. That CSS removes implicit ARIA roles, so they are explicit. */
import { attribute, type Html, html } from '../../net/html.ts';
import type { ProjectView } from '../client.ts';
import type { Link } from '../layout.ts';

export type Column<Row> = {
  /** Also shown beside each cell on narrow screens. */
  readonly heading: string;
  readonly cell: (row: Row) => Html | string;
  /** Marks the cell that is its row's header. */
  readonly names?: true;
  /** `wide` and `name` have styles. */
  readonly className?: string;
};

/** `caption`: for screen readers only. */
export function table<Row>(
  caption: string,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
): Html {
  return html`<table role="table"><caption class="unseen">${caption}</caption>
<thead role="rowgroup"><tr role="row">${columns.map(({ heading }) => html`<th role="columnheader" scope="col">${heading}</th>`)}</tr></thead>
<tbody role="rowgroup">
${rows.map((row) => html`<tr role="row">${columns.map((column) => cellOf(column, row))}</tr>`)}
</tbody></table>`;
}

function cellOf<Row>({ heading, cell, names, className }: Column<Row>, row: Row): Html {
  const more = html`${attribute('class', className ?? null)}${attribute('data-heading', heading)}`;
  return names === true
    ? html`<th role="rowheader" scope="row"${more}>${cell(row)}</th>`
    : html`<td role="cell"${more}>${cell(row)}</td>`;
}

/** In order; null is skipped. */
export function facts(
  entries: readonly (readonly [term: string, said: Html | string] | null)[],
): Html {
  const shown = entries.filter((entry) => entry !== null);
  return html`<dl class="facts">${shown.map(([term, said]) => html`<div><dt>${term}</dt><dd>${said}</dd></div>`)}</dl>`;
}

/** The API's path of a page of a list: the first one without a cursor. */
export function pagePath(path: string, query: URLSearchParams, size: number): string {
  const cursor = query.get('cursor');
  const asked = new URLSearchParams({ limit: String(size), ...(cursor !== null && { cursor }) });
  return `${path}?${asked}`;
}

/** Null for a single page. `path`: of the first page; `next`: the API's path of the next page. */
export function pager(query: URLSearchParams, next: string | undefined, path: string): Html | null {
  const isFirst = query.get('cursor') === null;
  if (isFirst && next === undefined) return null;
  const cursor = new URLSearchParams(next?.split('?')[1]).get('cursor') ?? '';
  return html`<nav class="pager" aria-label="Pages">
${isFirst ? null : html`<a href="${path}">First page</a>`}
${next === undefined ? null : html`<a rel="next" href="${path}?${new URLSearchParams({ cursor }).toString()}">Next page</a>`}
</nav>`;
}

export type Tab = 'domains' | 'settings';

const tabs: readonly (readonly [Tab, string])[] = [
  ['domains', 'Domains'],
  ['settings', 'Primary and redirects'],
];

export function projectHead({ id, name, slug, plan }: ProjectView, current: Tab, link: Link): Html {
  return html`<h1>${name}</h1>
<p class="quiet under">${slug} · ${plan} plan</p>
<nav class="tabs" aria-label="Project settings">
${tabs.map(([tab, text]) => html`<a href="${link(`/projects/${id}/${tab}`)}"${attribute('aria-current', tab === current ? 'page' : null)}>${text}</a>`)}
</nav>`;
}
