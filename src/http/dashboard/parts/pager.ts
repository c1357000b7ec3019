/** A long list in pages, so that none grows without an end. */
import { type Html, html } from '../../html.ts';

export type Paged<Item> = {
  readonly items: readonly Item[];
  readonly page: number;
  readonly pages: number;
};

/** `asked`: the query's `page`, from 1; what is none is the nearest that there is. */
export function paged<Item>(all: readonly Item[], asked: string | null, size: number): Paged<Item> {
  const pages = Math.max(1, Math.ceil(all.length / size));
  const number = /^\d{1,6}$/.test(asked ?? '') ? Number(asked) : 1;
  const page = Math.min(Math.max(1, number), pages);
  return { items: all.slice((page - 1) * size, page * size), page, pages };
}

/** Nothing where there is one page. `path`: of the first one. */
export function pager({ page, pages }: Omit<Paged<unknown>, 'items'>, path: string): Html | null {
  if (pages === 1) return null;
  return html`<nav class="pager" aria-label="Pages">
${page > 1 ? html`<a rel="prev" href="${path}?page=${page - 1}">Previous</a>` : null}
<span>Page ${page} of ${pages}</span>
${page < pages ? html`<a rel="next" href="${path}?page=${page + 1}">Next</a>` : null}
</nav>`;
}
