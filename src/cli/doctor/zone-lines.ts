/** Who is responsible for the zone, and whom its CAA records let issue. */
import { presentationOf } from '../../core/diagnosis/caa/caa-value.ts';
import { answerWords, durationInWords } from '../../core/diagnosis/shows.ts';
import { labelled, lengthOf, type Page, plain } from '../layout.ts';
import type { Report, Seen } from './shown.ts';

/** The zone above, the zone's servers as each of both lists them, and who runs them. */
export function delegationLines(
  { observation: { delegation }, provider }: Report,
  page: Page,
): readonly string[] {
  const line = (label: string, text: string) =>
    labelled(label, text, { indent: 2, labelWidth: 10 }, page);
  const run = provider === null ? [] : line('run by', plain(provider.name));
  if (delegation === null) return run;
  const { kind, zone, parent, atParent = [], atZone = null, ttlSeconds = 0 } = delegation;
  if (kind === 'unregistered') {
    return line('zone', `${plain(zone)} is not registered, says the registry of ${plain(parent)}`);
  }
  const above = `${plain(zone)}, delegated by ${named(parent)} for ${durationInWords(ttlSeconds)}`;
  const same = atZone !== null && atZone.join(' ') === atParent.join(' ');
  return [
    ...line('zone', above),
    ...run,
    ...(same
      ? line('servers', listed(atParent))
      : [...line('above', listed(atParent)), ...line('itself', listed(atZone))]),
  ];
}

/** The climb, nearest level first. */
export function caaLines({ observation: { caa } }: Report, page: Page): readonly string[] {
  if (caa === null) return [];
  const labelWidth = Math.min(34, 2 + Math.max(0, ...caa.map(({ name }) => lengthOf(plain(name)))));
  return caa.flatMap(({ name, answer }) => {
    const texts = recordsIn(answer);
    return texts.flatMap((text, index) =>
      labelled(index === 0 ? plain(name) : '', text, { indent: 2, labelWidth }, page),
    );
  });
}

function recordsIn(answer: NonNullable<Seen['caa']>[number]['answer']): readonly string[] {
  const { kind, records = [] } = answer;
  if (kind === 'records') return records.map((record) => plain(presentationOf(record)));
  return [kind === 'nodata' || kind === 'nxdomain' ? 'no records' : answerWords[kind]];
}

function listed(names: readonly string[] | null): string {
  return names === null ? 'none of them answered' : names.map(plain).join(', ');
}

function named(parent: string): string {
  return parent === '' || parent === '.' ? 'the root' : plain(parent);
}
