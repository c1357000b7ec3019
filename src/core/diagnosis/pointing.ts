/** Where one server says a host name points. */
import ipaddr from 'ipaddr.js';
import type { DnsRecord } from '../instructions.ts';
import type { Verdict } from '../lifecycle.ts';
import { isConclusive, recordsOf, type ServerView } from '../observation.ts';
import type { Outcome } from './findings.ts';

/** What one server shows, measured against the record that should be there. */
export type Pointing =
  | { readonly kind: 'right' }
  | { readonly kind: 'missing'; readonly seen: 'nxdomain' | 'nodata' }
  | {
      readonly kind: 'elsewhere';
      /** The alias that is not the target; null where there is none, or the right one. */
      readonly cname: string | null;
      /** All A records at the name, where any of them is in the way; AAAA likewise. */
      readonly a: readonly string[];
      readonly aaaa: readonly string[];
    }
  | { readonly kind: 'unknown'; readonly outcome: Outcome }
  /** The addresses of an apex are seen, but we do not know our own to compare them with. */
  | { readonly kind: 'incomparable' };

/** Recognises the platform's addresses, in any notation. */
export function ownAddresses(addresses: readonly string[]): (address: string) => boolean {
  const own = new Set(addresses.map(normalAddress));
  return (address) => own.has(normalAddress(address));
}

/**
 * Judges one server's answers. Records that are wrong outweigh answers that are missing; where nothing
 * is wrong, an answer that is needed and missing makes the whole unknown.
 */
export function pointingOf(
  view: ServerView,
  record: DnsRecord,
  targetAddresses: readonly string[],
): Pointing {
  const aliases = recordsOf(view.cname);
  const cname = aliases.find((alias) => alias.toLowerCase() !== record.value.toLowerCase()) ?? null;
  const [a, aaaa] = [recordsOf(view.a), recordsOf(view.aaaa)];
  if (record.type === 'CNAME') {
    // A subdomain must follow the target, so even our own address is in its way.
    return elsewhere(cname, a, aaaa) ?? byAlias(view);
  }
  if (targetAddresses.length === 0 && a.length + aaaa.length > 0) return { kind: 'incomparable' };
  const isOwn = ownAddresses(targetAddresses);
  return (
    elsewhere(cname, a.every(isOwn) ? [] : a, aaaa.every(isOwn) ? [] : aaaa) ??
    // No CNAME should stand at an apex, but one to the target does bring visitors here.
    (aliases.length > 0 ? { kind: 'right' } : byAddresses(view))
  );
}

/** One server that conclusively shows something wrong outweighs the others; one that is right outweighs silence. */
export function pointingOfAll(all: readonly Pointing[]): Verdict {
  const kinds = new Set(all.map(({ kind }) => kind));
  if (kinds.has('elsewhere') || kinds.has('missing')) return 'wrong';
  return kinds.has('right') ? 'right' : 'unknown';
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

/** Where nothing is in the way, only the question for the CNAME counts: a CNAME owns its name alone. */
function byAlias({ cname }: ServerView): Pointing {
  if (cname.kind === 'records') return { kind: 'right' };
  return isConclusive(cname)
    ? { kind: 'missing', seen: cname.kind }
    : { kind: 'unknown', outcome: cname.kind };
}

/** Where no address is foreign: right if there is any, and none that stayed untold. */
function byAddresses({ a, aaaa }: ServerView): Pointing {
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
