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

/** More than these help nobody. */
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

/** The record to create, e.g. `CNAME docs → x.edge.test, TTL 3600`; with the zone where that is not the domain. */
export function recordIn(finding: Wanted): string {
  const { type, name, value, ttl } = recordFor(finding);
  const other = type === 'ALIAS' ? ' (ANAME or flattened CNAME at some providers)' : '';
  return `${type} ${name} → ${value}, TTL ${ttl}${other}${inZone(finding)}`;
}

/** `, in the zone team.example.com`; empty where the record goes into the registrable domain. */
export function inZone({ zone }: Wanted): string {
  return zone === undefined ? '' : `, in the zone ${foreign(zone)}`;
}

/** `In the zone example.com, delete the NS records of docs.example.com, then create: CNAME docs → …`, a whole sentence. */
export function takeBack(
  hostname: string,
  { parent, target }: Omit<Wanted, 'hostname'> & { readonly parent: string },
): string {
  // The registrable domain is no zone that a record has to name.
  const named = splitAtZone(hostname).zone !== parent && hostname.endsWith(`.${parent}`);
  const zone = named ? { zone: parent } : {};
  const { type, name, value, ttl } = recordFor({ hostname, target, ...zone });
  return `In the zone ${foreign(parent)}, delete the NS records of ${hostname}, then create: ${type} ${name} → ${value}, TTL ${ttl}.`;
}

/** Whether the record stands at the top of its zone, where it has to be an ALIAS. */
export function isApex(finding: Wanted): boolean {
  return recordFor(finding).type === 'ALIAS';
}

/** What became of a query, or of a server that was asked. */
export const outcomes: { readonly [O in Outcome | 'nxdomain' | 'not_asked']: string } = {
  servfail: 'the server failed (SERVFAIL)',
  refused: 'the server declined to answer (REFUSED)',
  timeout: 'no answer in time',
  nxdomain: 'said not to exist (NXDOMAIN)',
  not_asked: 'our own limits for one check came before its answer',
};
