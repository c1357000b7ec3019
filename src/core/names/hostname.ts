/** Which host names can be published, and in which spelling the rest of the system knows them. */
import { hostInPasted, toAsciiName, toUnicodeName } from './idna.ts';
import { printable } from './printable.ts';
import { splitAtZone, suffixOf, type ZonePlace } from './zone.ts';

/** A host name that can be published: A-labels in lower case without a trailing dot, and its place in its zone. */
export type Hostname = ZonePlace & { readonly ascii: string; readonly unicode: string };

/** Why a host name cannot be added, as the API spells it. */
export type HostnameRefusalCode =
  | 'invalid_hostname'
  | 'public_suffix'
  | 'platform_hostname'
  | 'wildcard_unsupported';

/** `reason` is one sentence for the customer, safe to show. */
export type HostnameResult =
  | { readonly ok: true; readonly hostname: Hostname }
  | { readonly ok: false; readonly code: HostnameRefusalCode; readonly reason: string };

/** RFC 1035, 2.3.4, less the root's empty label and the first length octet. */
const NAME_OCTETS_MAX = 253;
/** Let's Encrypt refuses longer names (boulder, policy/pa.go, maxLabels). */
const LABELS_MAX = 10;

/**
 * Reads a host name as people type or paste it. Never throws, whatever the text. The `ascii` of an accepted name is accepted
 * again and stays the same. `platformDomain`, in any spelling, is refused with every name below it and above it: who holds a
 * name above may redirect its visitors, set their cookies, and answers for its CAA records. Its other names are not.
 */
export function parseHostname(text: string, platformDomain: string): HostnameResult {
  const pasted = hostInPasted(text);
  if (!pasted.ok) return refused('invalid_hostname', pasted.reason);
  if (pasted.host.startsWith('*.')) {
    return refused(
      'wildcard_unsupported',
      `A wildcard such as “${printable(pasted.host, 80)}” cannot be added; please add each host name by itself.`,
    );
  }
  const name = toAsciiName(pasted.host);
  return name.ok ? placed(name.ascii, platformDomain) : refused('invalid_hostname', name.reason);
}

/** Decides on a name whose labels are all sound, by its size and its place in the DNS. */
function placed(ascii: string, platformDomain: string): HostnameResult {
  const sizeReason = reasonAgainstShape(ascii);
  if (sizeReason !== undefined) return refused('invalid_hostname', sizeReason);
  const platform = asAscii(platformDomain);
  if (platform !== null && isAtOrBelow(ascii, platform)) return ofPlatform(ascii);
  const suffix = suffixOf(ascii);
  switch (suffix.kind) {
    case 'registrable':
      if (platform !== null && isAtOrBelow(platform, ascii)) return ofPlatform(ascii);
      return {
        ok: true,
        hostname: { ascii, unicode: toUnicodeName(ascii), ...splitAtZone(ascii) },
      };
    case 'public_suffix':
      return refused(
        'public_suffix',
        `“${ascii}” is a public suffix: names are registered below it.`,
      );
    case 'special_use':
      return refused(
        'invalid_hostname',
        `Names under “.${suffix.tld}” have no place in the public DNS (${suffix.source}).`,
      );
    case 'unknown_tld':
      return refused(
        'invalid_hostname',
        ascii.includes('.')
          ? `“.${suffix.tld}” is not a public top-level domain.`
          : `“${ascii}” is a single label; please give the full name, such as docs.example.com.`,
      );
  }
}

function reasonAgainstShape(ascii: string): string | undefined {
  const labels = ascii.split('.');
  // A last label that is a number makes the whole an IPv4 address in some notation (WHATWG URL, 3.5).
  if (/^(?:\d+|0x[0-9a-f]*)$/.test(labels.at(-1) ?? '')) {
    return `“${printable(ascii, 80)}” is an IP address or a number; please give a host name.`;
  }
  if (ascii.length > NAME_OCTETS_MAX) {
    return `The name takes ${ascii.length} octets; the DNS allows ${NAME_OCTETS_MAX}.`;
  }
  return labels.length > LABELS_MAX
    ? `The name has ${labels.length} labels; certificate authorities allow ${LABELS_MAX}.`
    : undefined;
}

/** The operator's domain in the form in which names are compared; null where it is none. */
function asAscii(domain: string): string | null {
  const pasted = hostInPasted(domain);
  const name = pasted.ok ? toAsciiName(pasted.host) : pasted;
  return name.ok ? name.ascii : null;
}

function isAtOrBelow(name: string, parent: string): boolean {
  return name === parent || name.endsWith(`.${parent}`);
}

function ofPlatform(ascii: string): HostnameResult {
  return refused(
    'platform_hostname',
    `“${ascii}” belongs to this platform; please use a domain of your own.`,
  );
}

function refused(code: HostnameRefusalCode, reason: string): HostnameResult {
  return { ok: false, code, reason };
}
