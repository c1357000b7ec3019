/** The CNAME record of a subdomain, and what must go before it can exist (RFC 1034, section 3.6.2). */
import { isNullMx } from '../beside.ts';
import { unique } from '../input.ts';
import { type DnsAnswer, isConclusive, recordsOf, type ServerView } from '../observation.ts';
import { isSameName } from '../server-pointing.ts';
import { foreign, foreignName } from '../words.ts';
import { type ChangeType, type DnsChange, nameIn, noted } from './change.ts';
import { isSaidByRow, namingNote, valueAt } from './notes.ts';
import {
  answersOf,
  type ChangePlace,
  type HasChange,
  hintsAbout,
  isOfWildcard,
  isProxied,
  spread,
} from './place.ts';

/** More records than a person deletes by hand; later checks show the rest. */
const DELETIONS_MAX = 12;

export function subdomainChanges(place: ChangePlace): readonly DnsChange[] {
  return [...conflicts(place), recordChange(place)];
}

function recordChange(place: ChangePlace): DnsChange {
  const { record, servers } = place;
  const { name, value, ttl } = record;
  const base = { type: 'CNAME', name, value: valueAt(place), ttl } as const;
  const hints = hintsAbout(place);
  if (isProxied(place)) return proxiedRecord(place, base);
  const isSet: HasChange = (view) => {
    const { cname } = view;
    // A wildcard's addresses beside its alias have no row, so they count here.
    if (hints.has('wildcard_masks') && hasAddress(view)) return false;
    if (!isConclusive(cname)) return null;
    const aliases = recordsOf(cname);
    return aliases.length > 0 && aliases.every((alias) => isSameName(alias, value));
  };
  const was = hints.has('wildcard_masks') || hints.has('dname_above') ? undefined : aliasOf(place);
  const mistakes = [...hints].filter(([code]) => !isSaidByRow(code)).map(([, text]) => text);
  const progress = servers.length === 0 ? notChecked : spread(servers, isSet);
  const isMade = progress.state === 'done' || progress.state === 'spreading';
  const naming = hints.has('doubled_name') || was !== undefined ? undefined : namingNote(place);
  return {
    verb: was === undefined ? 'add' : 'change',
    ...base,
    ...(was !== undefined && { was: foreignName(was) }),
    ...progress,
    ...(isMade ? {} : noted(...mistakes, naming)),
  };
}

function hasAddress({ a, aaaa }: ServerView): boolean {
  return a.kind === 'records' || aaaa.kind === 'records';
}

/** Before the first check, and before the domain has its own zone. */
export const notChecked = { state: 'unknown', servers: [] } as const;

/** The proxy's addresses say nothing about the record behind it. */
export function proxiedRecord(
  { findings, servers }: ChangePlace,
  base: Pick<DnsChange, 'type' | 'name' | 'value' | 'ttl'>,
): DnsChange {
  const proxied = findings.find(({ code }) => code === 'proxied');
  const passage = proxied?.code === 'proxied' ? proxied.passage : undefined;
  const passes = passage === 'passes';
  const shown = spread(servers, () => passes).servers;
  if (passes) return { verb: 'keep', ...base, state: 'done', servers: shown };
  if (passage === 'unknown' || passage === 'unseen') {
    return { verb: 'keep', ...base, state: 'unknown', servers: shown };
  }
  const note = 'Set “Proxy status” to “DNS only” (the gray cloud).';
  return { verb: 'change', ...base, state: 'to_do', servers: shown, note };
}

/** The first wrong alias that a server has. */
function aliasOf(place: ChangePlace): string | undefined {
  const { servers, record } = place;
  const aliases = answersOf(servers, ({ cname }) => recordsOf(cname));
  return unique(aliases.flat()).find(
    (alias) => !isSameName(alias, record.value) && !isOfWildcard(place, alias),
  );
}

function hasRecord({ servers, record }: ChangePlace): boolean {
  const aliases = answersOf(servers, ({ cname }) => recordsOf(cname)).flat();
  return aliases.some((alias) => isSameName(alias, record.value));
}

function conflicts(place: ChangePlace): readonly DnsChange[] {
  const { zone, observation, servers } = place;
  const hints = hintsAbout(place);
  const dname = observation?.nearby.dname;
  if (dname !== undefined && hints.has('dname_above')) {
    const note = 'Only if no other name below it needs it.';
    const about = { type: 'DNAME', name: nameIn(zone, dname.owner), ttl: 3600 } as const;
    const { servers: shown } = spread(servers, () => false);
    const value = foreignName(dname.target);
    return [{ verb: 'delete', ...about, value, state: 'to_do', servers: shown, note }];
  }
  // Records of a wildcard stay: the host name's own record takes precedence (RFC 4592).
  if (hints.has('wildcard_masks') || isProxied(place)) return [];
  return [
    ...deletions(place, 'A', ({ a }) => a),
    ...deletions(place, 'AAAA', ({ aaaa }) => aaaa),
    ...deletions(place, 'MX', mailAt, mailNote),
    ...deletions(place, 'TXT', besideAlias, textNote),
  ];
}

/** Null beside an alias: the server answers with the alias, so its TXT record has no effect. */
function besideAlias({ cname, txt }: ServerView): ServerView['txt'] {
  return cname.kind === 'nodata' || cname.kind === 'nxdomain' ? txt : null;
}

/** As in the findings about mail: without a null MX (RFC 7505), which accepts none. */
function mailAt({ state, cname, mx }: ServerView): ServerView['mx'] {
  if (state !== 'answers' || !isConclusive(cname)) return null;
  if (mx?.kind !== 'records') return mx;
  const [first, ...rest] = mx.records.filter((exchange) => !isNullMx(exchange));
  return first === undefined ? { kind: 'nodata' } : { ...mx, records: [first, ...rest] };
}

type NoteFor = (value: string, place: ChangePlace) => string | undefined;

function mailNote(_: string, { hostname }: ChangePlace): string {
  return `${hostname} receives mail, which the CNAME record ends. First move the mail to another name, or add another name here instead.`;
}

function textNote(value: string, { record }: ChangePlace): string {
  return value.toLowerCase().includes(record.value.toLowerCase())
    ? 'It has our target as its value, but the wrong type.'
    : 'A CNAME record cannot share its name with other records. If you need this one, move it first.';
}

function deletions(
  place: ChangePlace,
  type: ChangeType,
  answerOf: (view: ServerView) => DnsAnswer<string> | null,
  noteFor: NoteFor = () => undefined,
): readonly DnsChange[] {
  const { servers, record } = place;
  const answers = answersOf(servers, answerOf);
  const all = unique(answers.flatMap((answer) => recordsOf(answer)));
  // A name with its own record gets nothing from a wildcard.
  const values = hasRecord(place) ? all : all.filter((value) => !isOfWildcard(place, value));
  return values.slice(0, DELETIONS_MAX).map((value) => ({
    verb: 'delete',
    type,
    name: record.name,
    value: foreign(value),
    ttl: ttlOf(answers, value),
    ...spread(servers, (view) => {
      const answer = answerOf(view);
      // Not queried beside an alias, which excludes it.
      if (answer === null) return view.cname.kind === 'records' ? true : null;
      return isConclusive(answer) ? !recordsOf(answer).includes(value) : null;
    }),
    ...noted(noteFor(value, place)),
  }));
}

/** The longest that a server gives. */
export function ttlOf(answers: readonly (DnsAnswer<string> | null)[], value: string): number {
  const ttls = answers.flatMap((answer) =>
    answer?.kind === 'records' && answer.records.includes(value) ? [answer.ttlSeconds] : [],
  );
  return Math.max(0, ...ttls);
}
