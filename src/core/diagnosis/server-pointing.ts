/** Where one server says a host name points. */
import ipaddr from 'ipaddr.js';
import type { Verdict } from '../life/lifecycle.ts';
import type { DnsRecord } from '../names/instructions.ts';
import { isConclusive, recordsOf, type ServerState, type ServerView } from './observation.ts';

/** Why a server gave no conclusive answer. */
export type Outcome = 'servfail' | 'refused' | 'timeout';

/** Why a server was not even asked. */
export type Unasked = Extract<ServerState, 'no_address' | 'reserved_address' | 'not_asked'>;

/** What one server shows, measured against the record that should be there. */
export type Pointing =
  | { readonly kind: 'right' }
  | { readonly kind: 'missing'; readonly seen: 'nxdomain' | 'nodata' }
  | {
      readonly kind: 'elsewhere';
      /** The alias that should not be there: not the target, or at an apex any. Null without one. */
      readonly cname: string | null;
      /** All A records at the name if any of them conflicts; AAAA likewise. */
      readonly a: readonly string[];
      readonly aaaa: readonly string[];
    }
  | { readonly kind: 'unknown'; readonly outcome: Outcome }
  /** The addresses of an apex are seen, but we do not know our own to compare them with. */
  | { readonly kind: 'incomparable' };

/** The part of a view that says where the name points; what a resolver shows is compared by it, too. */
export type Shown = Pick<ServerView, 'state' | 'cname' | 'a' | 'aaaa'>;

/**
 * The states of a server that does not speak for the zone, whatever it has sent. One that failed or was silent once
 * (`servfail`, `timeout`) may still have answered another question, and that answer counts.
 */
const unresponsive: { readonly [S in ServerState]?: Outcome } = {
  refused: 'refused',
  not_authoritative: 'refused',
  malformed: 'servfail',
  no_address: 'timeout',
  reserved_address: 'timeout',
  not_asked: 'timeout',
};

/** Recognizes the platform's addresses, in any notation. */
export function ownAddresses(addresses: readonly string[]): (address: string) => boolean {
  const own = new Set(addresses.map(normalAddress));
  return (address) => own.has(normalAddress(address));
}

/** Whether two names are the same: without case (RFC 4343), with or without the trailing dot. */
export function isSameName(one: string, other: string): boolean {
  return normalName(one) === normalName(other);
}

/**
 * Compares one server's answers with the record. Records that are wrong outweigh answers that are missing; where nothing is
 * wrong, an answer that is needed and missing makes the whole unknown. Pure.
 */
export function pointingOf(
  view: Shown,
  record: DnsRecord,
  targetAddresses: readonly string[],
): Pointing {
  const outcome = unresponsive[view.state];
  if (outcome !== undefined) return { kind: 'unknown', outcome };
  const aliases = recordsOf(view.cname);
  const [a, aaaa] = [recordsOf(view.a), recordsOf(view.aaaa)];
  if (record.type === 'CNAME') {
    const cname = aliases.find((alias) => !isSameName(alias, record.value)) ?? null;
    // A subdomain must follow the target, so even our own address is in its way.
    return elsewhere(cname, a, aaaa) ?? byAlias(view);
  }
  // Beside the SOA and NS records of an apex no CNAME may stand, where it leads or not (RFC 1034, 3.6.2; RFC 1912, 2.4).
  const cname = aliases[0] ?? null;
  if (cname === null && targetAddresses.length === 0 && a.length + aaaa.length > 0) {
    return { kind: 'incomparable' };
  }
  const isOwn = ownAddresses(targetAddresses);
  return (
    elsewhere(cname, a.every(isOwn) ? [] : a, aaaa.every(isOwn) ? [] : aaaa) ?? byAddresses(view)
  );
}

/**
 * Any server that conclusively shows something else makes it wrong, whatever the others show; one that is right outweighs
 * silence, and silence alone, or no server, is unknown.
 */
export function pointingOfAll(all: readonly Pointing[]): Verdict {
  if (all.some(isOther)) return 'wrong';
  return all.some(({ kind }) => kind === 'right') ? 'right' : 'unknown';
}

/** Whether a server conclusively shows something other than the record that should be there. */
export function isOther({ kind }: Pick<Pointing, 'kind'>): boolean {
  return kind === 'elsewhere' || kind === 'missing';
}

function elsewhere(
  cname: string | null,
  a: readonly string[],
  aaaa: readonly string[],
): Pointing | undefined {
  return cname === null && a.length === 0 && aaaa.length === 0
    ? undefined
    : { kind: 'elsewhere', cname, a, aaaa };
}

/** Without a conflict, only the CNAME query counts: a CNAME cannot share its name. */
function byAlias({ cname }: Shown): Pointing {
  if (cname.kind === 'records') return { kind: 'right' };
  return isConclusive(cname)
    ? { kind: 'missing', seen: cname.kind }
    : { kind: 'unknown', outcome: cname.kind };
}

/** Where no address is foreign: right if there is any, and both queries had a conclusive answer. */
function byAddresses({ a, aaaa }: Shown): Pointing {
  for (const answer of [a, aaaa]) {
    if (!isConclusive(answer)) return { kind: 'unknown', outcome: answer.kind };
  }
  if (a.kind === 'records' || aaaa.kind === 'records') return { kind: 'right' };
  const none = a.kind === 'nxdomain' || aaaa.kind === 'nxdomain';
  return { kind: 'missing', seen: none ? 'nxdomain' : 'nodata' };
}

/** One notation per address (RFC 5952), so that they compare as text. */
function normalAddress(address: string): string {
  return ipaddr.isValid(address) ? ipaddr.process(address).toString() : address.toLowerCase();
}

function normalName(name: string): string {
  return name.toLowerCase().replace(/\.$/, '');
}
