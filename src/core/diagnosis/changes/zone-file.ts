/** The changes as lines of a zone file (RFC 1035, section 5.1), to paste into the zone. */
import { type DnsChange, isOpen } from './change.ts';

/** A character-string has at most 255 octets (RFC 1035, section 3.3). */
const STRING_MAX = 255;

/**
 * Records to add or change are lines, everything else is a comment, also an ALIAS, which has no standard
 * form. Ends with a line break.
 */
export function zoneFile({
  zone,
  hostname,
  changes,
}: {
  readonly zone: string;
  readonly hostname: string;
  readonly changes: readonly DnsChange[];
}): string {
  // A record that some servers have is in the zone already.
  const open = changes.filter((change) => isOpen(change) && change.state !== 'spreading');
  const lines = open.flatMap(linesFor);
  return [
    `; ${hostname}: ${open.length === 0 ? 'nothing to change' : 'changes to make'}`,
    `$ORIGIN ${zone}.`,
    ...lines,
    '',
  ].join('\n');
}

function linesFor(change: DnsChange): readonly string[] {
  const { verb, type, value, was } = change;
  const owner = ownerOf(change);
  if (verb === 'delete') return [`; delete: ${owner} IN ${type} ${value}`];
  const old = was === undefined ? [] : [`; replace: ${owner} IN ${type} ${was}`];
  if (type === 'ALIAS' || type === 'ANAME' || (type === 'CNAME' && owner === '@')) {
    // A CNAME is not allowed beside SOA and NS records (RFC 1034, section 3.6.2).
    return [
      ...old,
      `; ${type} ${owner} → ${value}: without such a type, add A and AAAA records with its addresses.`,
    ];
  }
  return [...old, `${owner} ${change.ttl} IN ${type} ${dataOf(change)}`];
}

function ownerOf({ name }: DnsChange): string {
  return name === '' ? '@' : name;
}

function dataOf({ type, value }: DnsChange): string {
  if (type === 'TXT') return quoted(value);
  return type === 'CNAME' ? `${value.replace(/\.$/, '')}.` : value;
}

function quoted(text: string): string {
  const strings = text.match(new RegExp(`.{1,${STRING_MAX}}`, 'gs')) ?? [''];
  return strings.map((one) => `"${one.replace(/["\\]/g, '\\$&')}"`).join(' ');
}
