/** Text that all findings share: the record, lists, foreign text. */
import { recordFor } from '../names/instructions.ts';
import { printable, shortList } from '../names/printable.ts';
import { splitAtZone } from '../names/zone.ts';
import type { QueryFailure } from './server-pointing.ts';

/** Sentences or short lines. Safe to display; HTML needs escaping. */
export type Words = {
  /** The situation, in one sentence. */
  readonly summary: string;
  /** The required state. */
  readonly expected: string;
  /** The observed state. */
  readonly found: string;
  /** What to do, or that no action is needed. */
  readonly action: string;
};

/**
 * What the record must do: point `hostname` to `target`. `zone`: the zone that holds the record, if
 * it is delegated below the registrable domain.
 */
export type Wanted = {
  readonly hostname: string;
  readonly target: string;
  readonly zone?: string;
};

/** More entries do not help the reader. */
const LIST_MAX = 5;
/** Fits a whole CAA record or name, and limits oversized values from hostile zones. */
const FOREIGN_LENGTH_MAX = 300;

/** Makes foreign text printable and cuts it to 300 characters. */
export function foreign(text: string): string {
  return printable(text, FOREIGN_LENGTH_MAX);
}

/**
 * Returns a foreign name as its owner typed it: printable ASCII without escapes. Spaces, dots and
 * backslashes inside a label, and all other bytes, stay escaped (RFC 4343, section 2.1).
 */
export function foreignName(name: string): string {
  const plain = name.replace(
    /\\(?:(\d{3})|([!-~]))/g,
    (written, octet?: string, character?: string) => {
      const code = octet === undefined ? (character ?? '').charCodeAt(0) : Number(octet);
      if (code <= 0x20 || code >= 0x7f) return written;
      const typed = String.fromCharCode(code);
      return typed === '.' || typed === '\\' ? `\\${typed}` : typed;
    },
  );
  return foreign(plain);
}

/**
 * Returns who delegates a zone and keeps its DS record: `your registrar`, or the parent zone if no
 * registrar does.
 */
export function keeperOf(zone: string): string {
  return splitAtZone(zone).zone === zone ? 'your registrar' : 'the parent zone';
}

/** Joins the first five foreign texts, then says how many more there are. */
export function listed(texts: readonly string[]): string {
  return lines(texts.map(foreign));
}

/** Joins the first five printable lines, then says how many more there are. */
export function lines(texts: readonly string[], separator = ', '): string {
  return shortList(texts, LIST_MAX, separator);
}

/** Returns `A 192.0.2.7, AAAA 2001:db8::7`. */
export function addressRecords(addresses: readonly string[]): string {
  return listed(addresses.map((one) => `${one.includes(':') ? 'AAAA' : 'A'} ${one}`));
}

/** Returns `1 name server` or `2 name servers`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** Returns the record to create, such as `CNAME docs → x.edge.test, TTL 3600`. */
export function recordIn(finding: Wanted): string {
  const { type, name, value, ttl } = recordFor(finding);
  const other = type === 'ALIAS' ? ' (ANAME or flattened CNAME at some providers)' : '';
  return `${type} ${name} → ${value}, TTL ${ttl}${other}`;
}

/** Whether the record is at the zone apex, where it has to be an ALIAS. */
export function isApex(finding: Wanted): boolean {
  return recordFor(finding).type === 'ALIAS';
}

export const outcomes: { readonly [O in QueryFailure | 'nxdomain']: string } = {
  servfail: 'the server failed (SERVFAIL)',
  refused: 'the server refused to answer (REFUSED)',
  timeout: 'no answer in time',
  nxdomain: 'does not exist (NXDOMAIN)',
};
