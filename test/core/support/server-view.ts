/** A zone in the notation of the pointing vectors, and a check's view of it. */
import {
  type DnsAnswer,
  type Nearby,
  type Observation,
  recordsOf,
  type ServerView,
} from '../../../src/core/diagnosis/observation.ts';
import { delegated, observed, server } from './observations.ts';

/** Records as `owner TYPE value`; owners relative to the zone, `@` for the zone itself. */
export type Zones = Readonly<Record<string, readonly string[]>>;

type ZoneRecord = { readonly owner: string; readonly type: string; readonly value: string };

type Place = {
  readonly hostname: string;
  readonly target: string;
  readonly zones: Zones;
  readonly platform: Zones;
  /** What the zone's second server holds, if it differs. */
  readonly secondNameServer?: Zones | undefined;
};

/** RFC 1034, 5.2.2, has no number; the observer stops here. */
const CHAIN_MAX = 8;

/** A full check: each server's view, and the names around the hostname. */
export function observeZones(place: Place): Observation {
  const { hostname, target, zones, platform, secondNameServer } = place;
  const zone = Object.keys(zones)[0] ?? hostname;
  const more = secondNameServer === undefined ? [] : [viewOf('ns2', secondNameServer, hostname)];
  const ours = viewOf('ns.edge.example', platform, target);
  return observed(hostname, [viewOf('ns1', zones, hostname), ...more], {
    delegation: { ...delegated(['ns1', 'ns2']), zone, parent: zone.slice(zone.indexOf('.') + 1) },
    nearby: nearbyOf(place, zone),
    targetAddresses: [...recordsOf(ours.a), ...recordsOf(ours.aaaa)],
  });
}

/** The answers of one authoritative server for a name in one of its zones. */
function viewOf(name: string, zones: Zones, hostname: string): ServerView {
  const all = allRecords(zones);
  const ask = (type: string) => answerOf(all, hostname, type);
  const cname = ask('CNAME');
  const beside = (type: string) => (cname.kind === 'records' ? null : ask(type));
  return server({
    server: name,
    cname,
    a: ask('A'),
    aaaa: ask('AAAA'),
    mx: beside('MX'),
    txt: beside('TXT'),
  });
}

function nearbyOf(place: Place, zone: string): Nearby {
  const { hostname, zones } = place;
  const cname = (name: string) => viewOf('ns1', zones, name).cname;
  const at = (name: string) => ({ name, cname: cname(name) });
  const apex = hostname === zone;
  const sibling = viewOf('ns1', zones, hostname.replace(/^[^.]+/, 'a-name-nobody-has'));
  return {
    sibling: apex ? null : { cname: sibling.cname, a: sibling.a },
    doubled: apex ? null : at(`${hostname}.${zone}`),
    wrongHosts: apex ? [] : [at(`www.${hostname}`), at(zone)],
    chain: chainFrom(place, recordsOf(cname(hostname))[0]),
  };
}

function chainFrom({ hostname, target, zones, platform }: Place, first?: string): Nearby['chain'] {
  if (first === undefined || first === target) return null;
  const all = allRecords({ ...zones, ...platform });
  const names: string[] = [];
  for (let name: string | undefined = first; names.length < CHAIN_MAX; ) {
    names.push(name);
    if (name === target) return { names, end: 'target' };
    if (name === hostname || names.indexOf(name) < names.length - 1) return { names, end: 'loop' };
    name = recordsOf(answerOf(all, name, 'CNAME'))[0];
    if (name === undefined) return { names, end: 'elsewhere' };
  }
  return { names, end: 'unknown' };
}

function answerOf(all: readonly ZoneRecord[], name: string, type: string): DnsAnswer<string> {
  const owner = ownerFor(all, name);
  const [first, ...rest] = all
    .filter((record) => record.owner === owner && record.type === type)
    .map(({ value }) => value);
  if (first !== undefined) return { kind: 'records', records: [first, ...rest], ttlSeconds: 300 };
  return { kind: owner === undefined ? 'nxdomain' : 'nodata' };
}

/** The owner whose records answer for the name: itself, an empty non-terminal, or the wildcard. */
function ownerFor(all: readonly ZoneRecord[], name: string): string | undefined {
  if (all.some(({ owner }) => owner === name || owner.endsWith(`.${name}`))) return name;
  const wildcard = `*${name.slice(name.indexOf('.'))}`;
  return all.some(({ owner }) => owner === wildcard) ? wildcard : undefined;
}

/** Every zone has SOA and NS records at its apex, so that name always exists. */
function allRecords(zones: Zones): readonly ZoneRecord[] {
  return Object.entries(zones).flatMap(([zone, lines]) => [
    { owner: zone, type: 'SOA', value: '' },
    ...lines.map((line) => parseLine(line, zone)),
  ]);
}

function parseLine(line: string, zone: string): ZoneRecord {
  const [owner = '', type = '', ...value] = line.split(' ');
  return {
    owner: owner === '@' ? zone : `${owner}.${zone}`,
    type,
    value: parseValue(type, value.join(' '), zone),
  };
}

/** As in a ServerView: names in lower case and absolute, texts without quotes. */
function parseValue(type: string, text: string, zone: string): string {
  switch (type) {
    case 'CNAME':
      return absolute(text.toLowerCase(), zone);
    case 'MX':
      return text.toLowerCase().replace(/\.$/, '');
    case 'TXT':
      return text.replace(/^"(.*)"$/, '$1');
    default:
      return text.toLowerCase();
  }
}

function absolute(name: string, zone: string): string {
  return name.endsWith('.') ? name.slice(0, -1) : `${name}.${zone}`;
}
