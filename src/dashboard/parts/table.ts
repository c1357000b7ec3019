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

/** `page` starts at 1; `pages` is 1 for an empty list. */
export type Paged<Item> = {
  readonly items: readonly Item[];
  readonly page: number;
  readonly pages: number;
};

/** `asked`: the query's `page`; invalid numbers give the first page, too high ones the last. */
export function paged<Item>(all: readonly Item[], asked: string | null, size: number): Paged<Item> {
  const pages = Math.max(1, Math.ceil(all.length / size));
  const number = /^\d{1,6}$/.test(asked ?? '') ? Number(asked) : 1;
  const page = Math.min(Math.max(1, number), pages);
  return { items: all.slice((page - 1) * size, page * size), page, pages };
}

/** Null for a single page. `path`: of the first page, without a query. */
export function pager({ page, pages }: Omit<Paged<unknown>, 'items'>, path: string): Html | null {
  if (pages === 1) return null;
  return html`<nav class="pager" aria-label="Pages">
${page > 1 ? html`<a rel="prev" href="${path}?page=${page - 1}">Previous</a>` : null}
<span>Page ${page} of ${pages}</span>
${page < pages ? html`<a rel="next" href="${path}?page=${page + 1}">Next</a>` : null}
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
