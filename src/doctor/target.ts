/** The host name that a domain's record must point to, as people type it. */
import { toAsciiName } from '../core/idna.ts';
import { hostInPasted } from '../core/pasted-hostname.ts';
import { printable } from '../core/printable.ts';
import { suffixOf } from '../core/zone.ts';

export type TargetResult =
  | { readonly ok: true; readonly target: string }
  | { readonly ok: false; readonly reason: string };

/** RFC 1035, 2.3.4, less the root's empty label and the first length octet. */
const NAME_OCTETS_MAX = 253;

/**
 * Reads a target as it is pasted, and gives it as A-labels in lower case without a trailing dot. It may lie anywhere, in
 * a laboratory's zone too; an address is refused, for no CNAME can point to one (RFC 1035, 3.3.1), and so is what could
 * never be right: `hostname` itself (A-labels, lower case) and a public suffix. Never throws.
 */
export function parseTarget(text: string, hostname: string): TargetResult {
  const pasted = hostInPasted(text);
  if (!pasted.ok) return pasted;
  const name = toAsciiName(pasted.host);
  if (!name.ok) return name;
  const { ascii } = name;
  if (ascii.length > NAME_OCTETS_MAX) {
    return refused(`The name takes ${ascii.length} octets; the DNS allows ${NAME_OCTETS_MAX}.`);
  }
  // A last label that is a number makes the whole an IPv4 address in some notation (WHATWG URL, 3.5).
  if (/(?:^|\.)(?:\d+|0x[0-9a-f]*)$/.test(ascii)) {
    return refused(
      `“${printable(ascii, 80)}” is an IP address or a number; please give a host name.`,
    );
  }
  const reason = reasonAgainstPlace(ascii, hostname);
  return reason === undefined ? { ok: true, target: ascii } : refused(reason);
}

/** Why a sound name can be no target; undefined where it can. */
function reasonAgainstPlace(ascii: string, hostname: string): string | undefined {
  if (!ascii.includes('.')) return `“${ascii}” is a single label; please give the full name.`;
  if (ascii === hostname) {
    return `“${ascii}” is the host name itself, which cannot point to itself; please give the name it must lead to.`;
  }
  return suffixOf(ascii).kind === 'public_suffix'
    ? `“${ascii}” is a public suffix, which nobody's record leads to; please give a name below it.`
    : undefined;
}

function refused(reason: string): TargetResult {
  return { ok: false, reason };
}
