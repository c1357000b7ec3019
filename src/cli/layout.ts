/** Lines of a width: foreign text made fit, wrapped, cut or set in columns. Widths count characters. */
import { styleText } from 'node:util';
import { printable } from '../core/names/printable.ts';

/** What a page is made with. `columns`: its width in characters. */
export type Page = { readonly columns: number; readonly paint: Paint };

const COLUMNS_MIN = 60;
const COLUMNS_MAX = 100;

/**
 * The width of a page on a screen of this width: 60 to 100 characters. On a narrower screen its lines are broken by
 * the terminal.
 */
export function columnsFor(screenColumns: number): number {
  return Math.min(COLUMNS_MAX, Math.max(COLUMNS_MIN, screenColumns));
}

/** The title with the lines below it; empty where there are no lines. */
export function titled(title: string, lines: readonly string[], page: Page): readonly string[] {
  return lines.length === 0 ? [] : [page.paint('bold', title), ...lines];
}

/**
 * The sections that have lines, an empty line between them and every line ended; an empty string if no section has lines.
 */
export function sectioned(sections: readonly (readonly string[])[]): string {
  return sections
    .filter((lines) => lines.length > 0)
    .map((lines) => `${lines.join('\n')}\n`)
    .join('\n');
}

/** A record or a name in full, yet no page-filling value of a hostile zone. */
const FOREIGN_LENGTH_MAX = 300;

/** Foreign text, fit to be printed: one line of at most 300 characters, what steers a terminal written as `\u{…}`. */
export function plain(text: string): string {
  return printable(text, FOREIGN_LENGTH_MAX);
}

/** More than any sentence of a finding has, with what it quotes. */
const SENTENCE_LENGTH_MAX = 2_000;

/** A sentence of a service, fit to be printed like foreign text, at most 2,000 characters of it. */
export function plainSentence(text: string): string {
  return printable(text, SENTENCE_LENGTH_MAX);
}

/**
 * The text in lines of at most `width` characters, broken at spaces; a longer word, which may be a name, stays whole.
 * At least one line, which is empty for an empty text.
 */
export function wrapped(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && lengthOf(line) + 1 + lengthOf(word) > width) {
      lines.push(line);
      line = word;
    } else {
      line = line === '' ? word : `${line} ${word}`;
    }
  }
  return [...lines, line];
}

/**
 * The label, and the text beside it, wrapped under its own beginning; below the label where that leaves no two
 * spaces. `labelWidth` counts the spaces behind the label, and `indent` those before it.
 */
export function labelled(
  label: string,
  text: string,
  { indent, labelWidth }: { readonly indent: number; readonly labelWidth: number },
  { columns, paint }: Page,
): readonly string[] {
  const before = ' '.repeat(indent);
  const width = Math.max(20, columns - indent - labelWidth);
  const gap = ' '.repeat(labelWidth);
  const isLong = lengthOf(label) > labelWidth - 2;
  const lines = wrapped(text, width).map((line, index) => {
    const padding = ' '.repeat(Math.max(0, labelWidth - lengthOf(label)));
    const head = index === 0 && !isLong ? paint('dim', label) + padding : gap;
    return `${before}${head}${line}`.trimEnd();
  });
  return isLong ? [`${before}${paint('dim', label)}`, ...lines] : lines;
}

/** At most `width` characters, the last one an ellipsis where something was cut. */
export function cut(text: string, width: number): string {
  const characters = [...text];
  return characters.length <= width ? text : `${characters.slice(0, width - 1).join('')}…`;
}

/** One cell of a table. `right`: flush right, for numbers. */
export type Cell = { readonly text: string; readonly style?: Style; readonly right?: boolean };

/**
 * Rows in columns that are as wide as their widest cell, two spaces between them and `indent` before them; a row may
 * have fewer cells. The first row is the heading. Lines are not held to any width.
 */
export function table(rows: readonly (readonly Cell[])[], indent: number, paint: Paint): string[] {
  const count = Math.max(...rows.map((row) => row.length));
  const widths = Array.from({ length: count }, (_, at) =>
    Math.max(...rows.map((row) => lengthOf(row[at]?.text ?? ''))),
  );
  return rows.map((row, index) => {
    const cells = row.map(({ text, style, right }, at) => {
      const gap = ' '.repeat(Math.max(0, (widths[at] ?? 0) - lengthOf(text)));
      const painted = index === 0 ? paint('dim', text) : style ? paint(style, text) : text;
      return right ? gap + painted : painted + gap;
    });
    return `${' '.repeat(indent)}${cells.join('  ')}`.trimEnd();
  });
}

/** How many columns a text takes: one for each code point, which is too few for characters of double width. */
export function lengthOf(text: string): number {
  return [...text].length;
}

/** Colours of a terminal. What they say, a symbol or a word says too. */
export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'blue';

/** Returns the text in a style. The text must be fit to be printed: nothing in it is escaped. */
export type Paint = (style: Style, text: string) => string;

/** Paints with the escape sequences of terminals, or returns every text as it is. An empty text stays empty. */
export function createPaint(colour: boolean): Paint {
  if (!colour) return (_style, text) => text;
  // Where it goes is known already, and need not be this process's own output.
  return (style, text) => (text === '' ? '' : styleText(style, text, { validateStream: false }));
}

/**
 * Whether to paint at all: on a terminal that knows colours, for a person who has not asked for none (NO_COLOR,
 * https://no-color.org).
 */
export function wantsColour(
  env: Readonly<Record<string, string | undefined>>,
  isScreen: boolean,
): boolean {
  return isScreen && !env['NO_COLOR'] && env['TERM'] !== 'dumb';
}

/** `2026-11-20T12:00:00Z`; a dash for null. */
export function toSeconds(time: string | null): string {
  return time?.replace(/\.\d+(?=Z$)/, '') ?? '-';
}

/** Rows in columns as wide as their widest cell, each with its line end; the first row has the headings. */
export function tableOf(rows: readonly (readonly string[])[]): string {
  const [headings = []] = rows;
  const widths = headings.map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    row
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd();
  return rows.map((row) => `${line(row)}\n`).join('');
}
