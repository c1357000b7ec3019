/** What to do at the DNS provider, as the page shows it. */
import type { ChangeState } from '../core/diagnosis/changes/change.ts';
import { progressInWords } from '../core/diagnosis/changes/progress-words.ts';
import {
  type Cell,
  plain,
  plainSentence,
  type Style,
  type TextLayout,
  textTable,
  wrapped,
} from './layout.ts';
import { spelt } from './lines.ts';
import type { ChangeShown } from './shown.ts';

export type ChangesShown = {
  readonly changes: readonly ChangeShown[];
  readonly view: 'authoritative' | 'recursive';
  readonly provider: { readonly name: string; readonly where: string } | null;
};

/** `isSaid`: the output above says who has to act. */
export function changesTitle({ changes, provider }: ChangesShown, isSaid = false): string {
  const isTask = changes.some(({ verb, state }) => verb !== 'keep' && state === 'to_do');
  if (!isTask) return 'The DNS records';
  const where = provider === null ? 'your DNS provider' : plain(provider.name);
  return `${isSaid ? 'Changes' : 'Do this'} at ${where}`;
}

/**
 * A line per record, and its progress below. Names and values are never cut: people copy them. The
 * table can be wider than the page.
 */
export function changeLines(
  { changes, view, provider }: ChangesShown,
  page: TextLayout,
): readonly string[] {
  const head = ['', 'Type', 'Name', 'Value', 'TTL'].map((text) => ({ text }));
  const [heading = '', ...rows] = textTable([head, ...changes.map(cellsOf)], 2, page.paint);
  const where = provider === null ? [] : wrapped(plain(provider.where), page.columns - 2);
  return [
    heading,
    ...rows.flatMap((row, at) => [row, ...linesBelow(changes[at], view, page)]),
    ...where.map((line) => `  ${line}`),
  ];
}

function cellsOf({ verb, type, name, value, was, ttl }: ChangeShown): readonly Cell[] {
  const old = was === undefined ? '' : ` (now ${plain(was)})`;
  return [
    { text: plain(verb), style: 'bold' },
    { text: plain(type) },
    { text: name === '' ? '(empty)' : spelt(name) },
    { text: `${plain(value)}${old}` },
    { text: String(ttl) },
  ];
}

/** The longest verb, and what stands around it. */
const INDENT = 10;

function linesBelow(
  change: ChangeShown | undefined,
  view: ChangesShown['view'],
  { columns, paint }: TextLayout,
): readonly string[] {
  if (change === undefined) return [];
  const { verb, state, note } = change;
  const [first = '', ...rest] = wrapped(progressInWords(change, view), columns - INDENT);
  const notes = note === undefined ? [] : wrapped(plainSentence(note), columns - INDENT);
  const style = verb === 'keep' ? 'dim' : styles[state];
  return [paint(style, first), ...rest, ...notes].map((line) => `${' '.repeat(INDENT)}${line}`);
}

const styles: { readonly [S in ChangeState]: Style } = {
  to_do: 'yellow',
  spreading: 'blue',
  done: 'green',
  unknown: 'dim',
};
