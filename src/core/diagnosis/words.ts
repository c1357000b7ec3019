/** What the words of all findings share: the record, lists, foreign text. */
import { recordFor } from '../names/instructions.ts';
import { printable, shortList } from '../names/printable.ts';
import { splitAtZone } from '../names/zone.ts';
import type { Outcome } from './server-pointing.ts';

/** Sentences or short lines, safe to show anywhere but in HTML without escaping. */
export type Words = {
  /** What is so, in one sentence. */
  readonly summary: string;
  /** What should be there. */
  readonly expected: string;
  /** What is there instead. */
  readonly found: string;
  /** What to do about it, or that there is nothing to do. */
  readonly action: string;
};

/**
 * What the record must do: lead visitors of `hostname` to `target`. `zone`: the zone that it goes into, where that is
 * not the registrable domain but one delegated below it.
 */
export type Wanted = {
  readonly hostname: string;
  readonly target: string;
  readonly zone?: string;
};

/** More do not help the reader. */
const LIST_MAX = 5;
/** A CAA record or a name in full, yet no page-filling value of a hostile zone. */
const FOREIGN_LENGTH_MAX = 300;

/** Returns text from outside, made printable and cut to 300 characters. */
export function foreign(text: string): string {
  return printable(text, FOREIGN_LENGTH_MAX);
}

/**
 * A foreign name as its owner typed it: printable ASCII without its escapes, but for a dot or a backslash inside a
 * label, and a blank, which could not be seen (RFC 4343, 2.1). All else stays escaped.
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

/** Who lists a zone's servers and keeps its DS record: `your registrar`, or the zone above one that no registrar has. */
export function keeperOf(zone: string): string {
  return splitAtZone(zone).zone === zone ? 'your registrar' : 'the zone above';
}

/** Joins the first five of some foreign texts, then says how many more there are. */
export function listed(texts: readonly string[]): string {
  return lines(texts.map(foreign));
}

/** Joins the first five of some lines that are fit to be shown already, then says how many more there are. */
export function lines(texts: readonly string[], separator = ', '): string {
  return shortList(texts, LIST_MAX, separator);
}

/** `A 192.0.2.7, AAAA 2001:db8::7` */
export function addressRecords(addresses: readonly string[]): string {
  return listed(addresses.map((one) => `${one.includes(':') ? 'AAAA' : 'A'} ${one}`));
}

/** `1 name server`, `2 name servers` */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** The record to create, e.g. `CNAME docs → x.edge.test, TTL 3600`. */
export function recordIn(finding: Wanted): string {
  const { type, name, value, ttl } = recordFor(finding);
  const other = type === 'ALIAS' ? ' (ANAME or flattened CNAME at some providers)' : '';
  return `${type} ${name} → ${value}, TTL ${ttl}${other}`;
}

/** Whether the record stands at the top of its zone, where it has to be an ALIAS. */
export function isApex(finding: Wanted): boolean {
  return recordFor(finding).type === 'ALIAS';
}

/** The outcome of a query. */
export const outcomes: { readonly [O in Outcome | 'nxdomain']: string } = {
  servfail: 'the server failed (SERVFAIL)',
  refused: 'the server refused to answer (REFUSED)',
  timeout: 'no answer in time',
  nxdomain: 'does not exist (NXDOMAIN)',
};
