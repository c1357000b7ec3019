/** A zone written down as the pointing vectors have it, and what a server that holds it shows at a name. */
import type { Answer, ServerView } from '../../../src/core/observation.ts';

/** Records as `owner TYPE value`; owners relative to the zone, `@` for the zone itself. */
export type Zones = Readonly<Record<string, readonly string[]>>;

type ZoneRecord = { readonly owner: string; readonly type: string; readonly value: string };

/** The answers of one authoritative server about a name at or below one of its zones. */
export function viewOf(server: string, zones: Zones, hostname: string): ServerView {
  const all = Object.entries(zones).flatMap(([zone, lines]) =>
    lines.map((line) => parseLine(line, zone)),
  );
  const owner = ownerFor(all, hostname);
  const answer = (type: string): Answer<string> => {
    const [first, ...rest] = all
      .filter((record) => record.owner === owner && record.type === type)
      .map(({ value }) => value);
    if (first !== undefined) return { kind: 'records', records: [first, ...rest], ttlSeconds: 300 };
    return { kind: owner === undefined ? 'nxdomain' : 'nodata' };
  };
  return { server, cname: answer('CNAME'), a: answer('A'), aaaa: answer('AAAA') };
}

/** The owner whose records answer for the name: itself, one above other names, or the wildcard beside it. */
function ownerFor(all: readonly ZoneRecord[], name: string): string | undefined {
  if (all.some(({ owner }) => owner === name || owner.endsWith(`.${name}`))) return name;
  const wildcard = `*${name.slice(name.indexOf('.'))}`;
  return all.some(({ owner }) => owner === wildcard) ? wildcard : undefined;
}

function parseLine(line: string, zone: string): ZoneRecord {
  const [owner = '', type = '', ...value] = line.split(' ');
  const text = value.join(' ').toLowerCase();
  return {
    owner: owner === '@' ? zone : `${owner}.${zone}`,
    type,
    value: type === 'CNAME' ? absolute(text, zone) : text,
  };
}

function absolute(name: string, zone: string): string {
  return name.endsWith('.') ? name.slice(0, -1) : `${name}.${zone}`;
}
