/** A table that becomes a list of its rows where the screen is narrow. Its roles are spelt out: a style takes them away. */
import { attribute, type Html, html } from '../../net/html.ts';
import type { Project } from '../client.ts';
import type { Link } from '../layout.ts';

/** One column of a table of rows. */
export type Column<Row> = {
  /** Also stands beside each cell, where the screen is narrow. */
  readonly heading: string;
  readonly cell: (row: Row) => Html | string;
  /** The cell that names its row, as its heading. */
  readonly names?: true;
  /** Of its cells: `wide` and `name` have a style. */
  readonly className?: string;
};

/** A table with a heading, also where there are no rows. `caption`: for who hears the page; nobody sees it. */
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

/** Terms and what is said of them, in their order; null is left out. */
export function facts(
  entries: readonly (readonly [term: string, said: Html | string] | null)[],
): Html {
  const shown = entries.filter((entry) => entry !== null);
  return html`<dl class="facts">${shown.map(([term, said]) => html`<div><dt>${term}</dt><dd>${said}</dd></div>`)}</dl>`;
}

/** One page of a list. `page` counts from 1; `pages` is 1 for an empty list. */
export type Paged<Item> = {
  readonly items: readonly Item[];
  readonly page: number;
  readonly pages: number;
};

/**
 * The page that was asked for. `asked`: the query's `page`, from 1; what is no number is the first page, and what is
 * too high the last. `size`: items on a page.
 */
export function paged<Item>(all: readonly Item[], asked: string | null, size: number): Paged<Item> {
  const pages = Math.max(1, Math.ceil(all.length / size));
  const number = /^\d{1,6}$/.test(asked ?? '') ? Number(asked) : 1;
  const page = Math.min(Math.max(1, number), pages);
  return { items: all.slice((page - 1) * size, page * size), page, pages };
}

/** Links to the page before and after; null where there is one page. `path`: of the first one, without a query. */
export function pager({ page, pages }: Omit<Paged<unknown>, 'items'>, path: string): Html | null {
  if (pages === 1) return null;
  return html`<nav class="pager" aria-label="Pages">
${page > 1 ? html`<a rel="prev" href="${path}?page=${page - 1}">Previous</a>` : null}
<span>Page ${page} of ${pages}</span>
${page < pages ? html`<a rel="next" href="${path}?page=${page + 1}">Next</a>` : null}
</nav>`;
}

/** Where a page of a list stands that is read by cursors. `next` null: it is the last one. */
export type At = { readonly isFirst: boolean; readonly next: string | null };

/**
 * Links to the first page and to the next; null where there is one page. `path`: of the list, `filters` the rest of its
 * query.
 */
export function cursorPager(
  { isFirst, next }: At,
  path: string,
  filters: URLSearchParams = new URLSearchParams(),
): Html | null {
  if (isFirst && next === null) return null;
  const to = (more: Readonly<Record<string, string>>) => {
    const query = new URLSearchParams([...filters, ...Object.entries(more)]).toString();
    return query === '' ? path : `${path}?${query}`;
  };
  return html`<nav class="pager" aria-label="Pages">
${isFirst ? null : html`<a href="${to({})}">First page</a>`}
${next === null ? null : html`<a rel="next" href="${to({ cursor: next })}">Next</a>`}
</nav>`;
}

/** The pages of a project, by the end of their paths. */
export type Tab = 'domains' | 'settings';

const tabs: readonly (readonly [Tab, string])[] = [
  ['domains', 'Domains'],
  ['settings', 'Primary and redirects'],
];

/** The heading of a project's pages and the links between them; `current` is marked as the one that is shown. */
export function projectHead({ id, name, slug, plan }: Project, current: Tab, link: Link): Html {
  return html`<h1>${name}</h1>
<p class="quiet under">${slug} · ${plan} plan</p>
<nav class="tabs" aria-label="Project settings">
${tabs.map(([tab, text]) => html`<a href="${link(`/projects/${id}/${tab}`)}"${attribute('aria-current', tab === current ? 'page' : null)}>${text}</a>`)}
</nav>`;
}
