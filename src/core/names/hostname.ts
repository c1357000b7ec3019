import { hostInPasted, toAsciiName, toUnicodeName } from './idna.ts';
import { printable } from './printable.ts';
import { splitAtZone, suffixOf, type ZonePlace } from './zone.ts';

/** `ascii`: lower-case A-labels without a trailing dot. */
type Hostname = ZonePlace & { readonly ascii: string; readonly unicode: string };

export type HostnameRefusalCode =
  | 'invalid_hostname'
  | 'public_suffix'
  | 'platform_hostname'
  | 'wildcard_unsupported';

/** `reason`: one sentence for the customer, safe to show. */
export type HostnameResult =
  | { readonly ok: true; readonly hostname: Hostname }
  | { readonly ok: false; readonly code: HostnameRefusalCode; readonly reason: string };

/** RFC 1035, 2.3.4, without the root label and the first length octet. */
export const NAME_OCTETS_MAX = 253;
/** Let's Encrypt refuses longer names (boulder, policy/pa.go, maxLabels). */
const LABELS_MAX = 10;

/**
 * Accepts what people type or paste; `ascii` parses to itself. Never throws. Refuses
 * `platformDomain` (in any spelling) and every name below it.
 */
export function parseHostname(text: string, platformDomain: string): HostnameResult {
  const pasted = hostInPasted(text);
  if (!pasted.ok) return refused('invalid_hostname', pasted.reason);
  if (pasted.host.startsWith('*.')) {
    return refused(
      'wildcard_unsupported',
      `A wildcard such as “${printable(pasted.host, 80)}” cannot be added. Add each host name separately.`,
    );
  }
  const name = toAsciiName(pasted.host);
  return name.ok ? placed(name.ascii, platformDomain) : refused('invalid_hostname', name.reason);
}

function placed(ascii: string, platformDomain: string): HostnameResult {
  const sizeReason = reasonAgainstShape(ascii);
  if (sizeReason !== undefined) return refused('invalid_hostname', sizeReason);
  if (isWithin(ascii, platformDomain)) {
    return refused(
      'platform_hostname',
      `“${ascii}” belongs to this platform. Use your own domain.`,
    );
  }
  const suffix = suffixOf(ascii);
  switch (suffix.kind) {
    case 'registrable':
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
        `Names under “.${suffix.tld}” do not exist in the public DNS (${suffix.source}).`,
      );
    case 'unknown_tld':
      return refused(
        'invalid_hostname',
        ascii.includes('.')
          ? `“.${suffix.tld}” is not a public top-level domain.`
          : `“${ascii}” is a single label. Enter the full name, such as docs.example.com.`,
      );
  }
}

function reasonAgainstShape(ascii: string): string | undefined {
  const labels = ascii.split('.');
  // A numeric last label makes the whole an IPv4 address in some notation (WHATWG URL, 3.5).
  if (/^(?:\d+|0x[0-9a-f]*)$/.test(labels.at(-1) ?? '')) {
    return `“${printable(ascii, 80)}” is an IP address or a number. Enter a host name.`;
  }
  if (ascii.length > NAME_OCTETS_MAX) {
    return `The name takes ${ascii.length} octets; the DNS allows ${NAME_OCTETS_MAX}.`;
  }
  return labels.length > LABELS_MAX
    ? `The name has ${labels.length} labels; certificate authorities allow ${LABELS_MAX}.`
    : undefined;
}

function isWithin(ascii: string, domain: string): boolean {
  const pasted = hostInPasted(domain);
  const parent = pasted.ok ? toAsciiName(pasted.host) : pasted;
  return parent.ok && (ascii === parent.ascii || ascii.endsWith(`.${parent.ascii}`));
}

function refused(code: HostnameRefusalCode, reason: string): HostnameResult {
  return { ok: false, code, reason };
}
