/** Terminal layout. Widths count characters. */
import { styleText } from 'node:util';
import { printable } from '../core/names/printable.ts';

export type TextLayout = { readonly columns: number; readonly paint: Paint };

const COLUMNS_MIN = 60;
const COLUMNS_MAX = 100;

/** A narrower terminal breaks the lines itself. */
export function columnsFor(screenColumns: number): number {
  return Math.min(COLUMNS_MAX, Math.max(COLUMNS_MIN, screenColumns));
}

export function titled(
  title: string,
  lines: readonly string[],
  page: TextLayout,
): readonly string[] {
  return lines.length === 0 ? [] : [page.paint('bold', title), ...lines];
}

/** Omits empty sections and terminates every line. */
export function sectioned(sections: readonly (readonly string[])[]): string {
  return sections
    .filter((lines) => lines.length > 0)
    .map((lines) => `${lines.join('\n')}\n`)
    .join('\n');
}

/** Long enough for any record or name, and a bound for values of a hostile zone. */
const FOREIGN_LENGTH_MAX = 300;

/** Makes foreign text printable: one line, with control characters as `\u{…}`. */
export function plain(text: string): string {
  return printable(text, FOREIGN_LENGTH_MAX);
}

/** Longer than any sentence of a finding. */
const SENTENCE_LENGTH_MAX = 2_000;

export function plainSentence(text: string): string {
  return printable(text, SENTENCE_LENGTH_MAX);
}

/** Wraps at spaces; longer words, such as names, stay whole. Returns at least one line. */
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

/** `labelWidth` includes the spaces after the label; below two, the text starts a new line. */
export function labeled(
  label: string,
  text: string,
  { indent, labelWidth }: { readonly indent: number; readonly labelWidth: number },
  { columns, paint }: TextLayout,
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

/** At most `width` characters; ends in an ellipsis if cut. */
export function cut(text: string, width: number): string {
  const characters = [...text];
  return characters.length <= width ? text : `${characters.slice(0, width - 1).join('')}…`;
}

/** `right`: right-aligned, for numbers. */
export type Cell = { readonly text: string; readonly style?: Style; readonly right?: boolean };

/** The first row is the heading; rows can have fewer cells. Lines can exceed any width. */
export function textTable(
  rows: readonly (readonly Cell[])[],
  indent: number,
  paint: Paint,
): string[] {
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

/** One per code point, which is too few for double-width characters. */
export function lengthOf(text: string): number {
  return [...text].length;
}

/** A symbol or word always carries the same information. */
export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'blue';

/** Does not escape: the text must be printable. */
export type Paint = (style: Style, text: string) => string;

/** Empty text stays empty. */
export function createPaint(color: boolean): Paint {
  if (!color) return (_style, text) => text;
  // The caller decides about color; the target need not be this process's own output.
  return (style, text) => (text === '' ? '' : styleText(style, text, { validateStream: false }));
}

/** On a terminal that supports it, unless NO_COLOR is set (https://no-color.org). */
export function wantsColor(
  env: Readonly<Record<string, string | undefined>>,
  isScreen: boolean,
): boolean {
  return isScreen && !env['NO_COLOR'] && env['TERM'] !== 'dumb';
}

/** RFC 3339 without fractions of a second: `2026-11-20T12:00:00Z`. */
export function toSeconds(time: string): string {
  return time.replace(/\.\d+(?=Z$)/, '');
}

/** The first row is the heading. */
export function inColumns(rows: readonly (readonly string[])[]): string {
  const cells = rows.map((row) => row.map((text) => ({ text })));
  return textTable(cells, 0, createPaint(false))
    .map((line) => `${line}\n`)
    .join('');
}
