/** A table that becomes a list of its rows where the screen is narrow. Its roles are spelt out: a style takes them away. */
import { attribute, type Html, html } from '../../html.ts';

export type Column<Row> = {
  readonly heading: string;
  readonly cell: (row: Row) => Html | string;
  /** The cell that names its row. */
  readonly names?: true;
  readonly className?: string;
};

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

/** Terms and what is said of them. */
export function facts(
  entries: readonly (readonly [term: string, said: Html | string] | null)[],
): Html {
  const shown = entries.filter((entry) => entry !== null);
  return html`<dl class="facts">${shown.map(([term, said]) => html`<div><dt>${term}</dt><dd>${said}</dd></div>`)}</dl>`;
}
