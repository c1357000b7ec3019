/** Where one server says a host name points. */
import ipaddr from 'ipaddr.js';
import type { Verdict } from '../life/lifecycle.ts';
import type { DnsRecord } from '../names/instructions.ts';
import { isConclusive, recordsOf, type ServerState, type ServerView } from './observation.ts';

export type QueryFailure = 'servfail' | 'refused' | 'timeout';

export type Unasked = Extract<
  ServerState,
  'no_address' | 'alias_name' | 'lookup_failed' | 'reserved_address' | 'not_asked'
>;

const unaskedStates: readonly ServerState[] = [
  'no_address',
  'alias_name',
  'lookup_failed',
  'reserved_address',
  'not_asked',
];

/** Whether nothing was sent to the server. */
export function isUnasked(state: ServerState): state is Unasked {
  return unaskedStates.includes(state);
}

export type Pointing =
  | { readonly kind: 'right' }
  | { readonly kind: 'missing'; readonly seen: 'nxdomain' | 'nodata' }
  | {
      readonly kind: 'elsewhere';
      /** The conflicting alias: not the target, or any alias at an apex. */
      readonly cname: string | null;
      /** All A records at the name if any conflicts; AAAA likewise. */
      readonly a: readonly string[];
      readonly aaaa: readonly string[];
    }
  | { readonly kind: 'unknown'; readonly outcome: QueryFailure }
  /** The apex has addresses, but ours are unknown. */
  | { readonly kind: 'incomparable' };

export type PointingView = Pick<ServerView, 'state' | 'cname' | 'a' | 'aaaa'>;

/** The server does not speak for the zone. After `servfail` and `timeout`, other answers count. */
const unresponsive: { readonly [S in ServerState]?: QueryFailure } = {
  refused: 'refused',
  not_authoritative: 'refused',
  malformed: 'servfail',
  no_address: 'timeout',
  alias_name: 'timeout',
  lookup_failed: 'timeout',
  reserved_address: 'timeout',
  not_asked: 'timeout',
};

/** Whether its answers about the zone count. */
export function speaksForZone(state: ServerState): boolean {
  return unresponsive[state] === undefined;
}

/** In any notation. */
export function ownAddresses(addresses: readonly string[]): (address: string) => boolean {
  const own = new Set(addresses.map(normalAddress));
  return (address) => own.has(normalAddress(address));
}

/** Ignores case (RFC 4343) and a trailing dot. */
export function isSameName(one: string, other: string): boolean {
  return normalName(one) === normalName(other);
}

/** Wrong records outweigh missing answers, which make the result unknown. Pure. */
export function pointingOf(
  view: PointingView,
  record: DnsRecord,
  targetAddresses: readonly string[],
): Pointing {
  const outcome = unresponsive[view.state];
  if (outcome !== undefined) return { kind: 'unknown', outcome };
  const aliases = recordsOf(view.cname);
  const [a, aaaa] = [recordsOf(view.a), recordsOf(view.aaaa)];
  if (record.type === 'CNAME') {
    const cname = aliases.find((alias) => !isSameName(alias, record.value)) ?? null;
    // A subdomain must follow the target, so even our own address conflicts.
    return elsewhere(cname, a, aaaa) ?? byAlias(view);
  }
  // A CNAME conflicts with the apex's SOA and NS records (RFC 1034, section 3.6.2; RFC 1912,
  // section 2.4).
  const cname = aliases[0] ?? null;
  if (cname === null && targetAddresses.length === 0 && a.length + aaaa.length > 0) {
    return { kind: 'incomparable' };
  }
  const isOwn = ownAddresses(targetAddresses);
  return (
    elsewhere(cname, a.every(isOwn) ? [] : a, aaaa.every(isOwn) ? [] : aaaa) ?? byAddresses(view)
  );
}

/** One conclusively wrong server makes the result wrong; otherwise one right server is enough. */
export function pointingOfAll(all: readonly Pointing[]): Verdict {
  if (all.some(isOther)) return 'wrong';
  return all.some(({ kind }) => kind === 'right') ? 'right' : 'unknown';
}

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

/** Without a conflict, only the CNAME query counts: a CNAME excludes other records. */
function byAlias({ cname }: PointingView): Pointing {
  if (cname.kind === 'records') return { kind: 'right' };
  return isConclusive(cname)
    ? { kind: 'missing', seen: cname.kind }
    : { kind: 'unknown', outcome: cname.kind };
}

/** Without foreign addresses: right if any address exists and both queries are conclusive. */
function byAddresses({ a, aaaa }: PointingView): Pointing {
  for (const answer of [a, aaaa]) {
    if (!isConclusive(answer)) return { kind: 'unknown', outcome: answer.kind };
  }
  if (a.kind === 'records' || aaaa.kind === 'records') return { kind: 'right' };
  const none = a.kind === 'nxdomain' || aaaa.kind === 'nxdomain';
  return { kind: 'missing', seen: none ? 'nxdomain' : 'nodata' };
}

/** RFC 5952, so that addresses compare as text. */
function normalAddress(address: string): string {
  return ipaddr.isValid(address) ? ipaddr.process(address).toString() : address.toLowerCase();
}

function normalName(name: string): string {
  return name.toLowerCase().replace(/\.$/, '');
}
