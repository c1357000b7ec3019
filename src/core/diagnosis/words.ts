/** Text that all findings share. */
import { recordFor } from '../names/instructions.ts';
import { printable, shortList } from '../names/printable.ts';
import { splitAtZone } from '../names/zone.ts';
import type { QueryFailure } from './server-pointing.ts';

/** Sentences or short lines. Safe to display; HTML needs escaping. */
export type Words = {
  readonly summary: string;
  readonly expected: string;
  readonly found: string;
  /** What to do, or that no action is needed. */
  readonly action: string;
};

/** `zone`: the zone that holds the record, if it is delegated below the registrable domain. */
export type Wanted = {
  readonly hostname: string;
  readonly target: string;
  readonly zone?: string;
};

const LIST_MAX = 5;
/** Fits a whole CAA record or name. */
const FOREIGN_LENGTH_MAX = 300;

export function foreign(text: string): string {
  return printable(text, FOREIGN_LENGTH_MAX);
}

/** As typed. Unprintable bytes and separators in a label stay escaped (RFC 4343, section 2.1). */
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

/** Who delegates the zone and keeps its DS record. `parent`: the zone above, if known. */
export function keeperOf(zone: string, parent?: string): string {
  if (splitAtZone(zone).zone === zone) return 'your registrar';
  return parent === undefined ? 'the parent zone' : `the DNS provider of ${foreign(parent)}`;
}

/** Foreign texts: made printable. */
export function listed(texts: readonly string[]): string {
  return lines(texts.map(foreign));
}

/** Printable already. */
export function lines(texts: readonly string[], separator = ', '): string {
  return shortList(texts, LIST_MAX, separator);
}

/** `A 192.0.2.7, AAAA 2001:db8::7`. */
export function addressRecords(addresses: readonly string[]): string {
  return listed(addresses.map((one) => `${one.includes(':') ? 'AAAA' : 'A'} ${one}`));
}

/** `CNAME docs → x.edge.test, TTL 3600`, with the zone if it is not the registrable domain. */
export function recordIn(finding: Wanted): string {
  const { type, name, value, ttl } = recordFor(finding);
  const other = type === 'ALIAS' ? ' (ANAME or flattened CNAME at some providers)' : '';
  return `${type} ${name} → ${value}, TTL ${ttl}${other}${zoneInWords(finding)}`;
}

/** `, in the zone team.example.com`; empty for the registrable domain. */
function zoneInWords({ zone }: Wanted): string {
  return zone === undefined ? '' : `, in the zone ${foreign(zone)}`;
}

/** How the host name gets a CNAME in `parent` instead of a separate zone. */
export function deleteOwnZone(
  hostname: string,
  { parent, target }: Omit<Wanted, 'hostname'> & { readonly parent: string },
): string {
  const isBelow = splitAtZone(hostname).zone !== parent && hostname.endsWith(`.${parent}`);
  const { type, name, value, ttl } = recordFor({
    hostname,
    target,
    ...(isBelow ? { zone: parent } : {}),
  });
  return `In the zone ${foreign(parent)}, delete the NS records of ${hostname}. If your DNS provider also has a zone ${hostname}, delete that zone. Then create: ${type} ${name} → ${value}, TTL ${ttl}.`;
}

/** Of servers that only answer queries in lower case without EDNS. */
export const plainAnswerWords =
  'The name servers have a record for this name, but only for simple queries, as some tools send. Resolvers, also those of certificate authorities, send queries with EDNS and in mixed case. Ask your DNS provider to repair its servers.';

export function isApex(finding: Wanted): boolean {
  return recordFor(finding).type === 'ALIAS';
}

export const outcomes: { readonly [O in QueryFailure | 'nxdomain']: string } = {
  servfail: 'the server failed (SERVFAIL)',
  refused: 'the server refused to answer (REFUSED)',
  timeout: 'no answer in time',
  nxdomain: 'does not exist (NXDOMAIN)',
};
