/** Zones of a test lab, declared as zone file lines (RFC 1035, 5.1): `docs CNAME p1.edge.test.` */
import { isIPv6 } from 'node:net';
import type { Answer, CaaData, OptAnswer } from 'dns-packet';

export type LabRecord = Exclude<Answer, OptAnswer>;

/** By owner, then by type. An owner without types is an empty non-terminal (RFC 4592, 2.2.2). */
export type LabZone = {
  readonly name: string;
  /** Owners are in lower case, without a trailing dot. */
  readonly nodes: ReadonlyMap<string, ReadonlyMap<string, readonly LabRecord[]>>;
};

/** Short, so that changes become visible soon. */
const TTL_SECONDS = 60;

/** The last field is the TTL of negative answers (RFC 2308, 4), the third the serial number. */
const SOA_LINE = `@ ${TTL_SECONDS} SOA ns1 hostmaster 1 3600 600 86400 ${TTL_SECONDS}`;

/** `serverAddress`: of the zone's name server, unless the zone declares one. */
export type ZoneOptions = { readonly serverAddress: string };

/** `owner [TTL] [IN] TYPE data`. Adds missing NS (`ns1`) and SOA. Throws on an invalid line. */
export function parseZone(name: string, lines: readonly string[], options: ZoneOptions): LabZone {
  const nodes = new Map<string, Map<string, LabRecord[]>>();
  const add = (record: LabRecord) => {
    // Each name between a record and its zone exists, too, if without any type (RFC 4592, 2.2.2).
    for (let owner = record.name; ; owner = owner.slice(owner.indexOf('.') + 1)) {
      const node = nodes.get(owner) ?? new Map<string, LabRecord[]>();
      nodes.set(owner, node);
      if (owner === record.name) node.set(record.type, [...(node.get(record.type) ?? []), record]);
      if (owner === name) break;
    }
  };
  const records = lines.map((line) => parseRecord(name, line));
  if (!records.some(({ type }) => type === 'SOA')) add(parseRecord(name, SOA_LINE));
  for (const record of records) add(record);
  if (!nodes.get(name)?.has('NS')) {
    add(parseRecord(name, '@ NS ns1'));
    const type = isIPv6(options.serverAddress) ? 'AAAA' : 'A';
    add(parseRecord(name, `ns1 ${type} ${options.serverAddress}`));
  }
  return { name, nodes };
}

/** Throws for an invalid line or an owner outside `zone`. Does not check addresses. */
export function parseRecord(zone: string, line: string): LabRecord {
  const [ownerText = '', ...rest] = line.match(/"(?:[^"\\]|\\.)*"|\S+/g) ?? [];
  const ttl = /^\d+$/.test(rest[0] ?? '') ? Number(rest.shift()) : TTL_SECONDS;
  if (rest[0] === 'IN') rest.shift();
  const [type = '', ...data] = rest;
  const name = absolute(zone, ownerText).toLowerCase();
  const read = readers[type];
  if (read === undefined || data.length === 0)
    throw new Error(`zone ${zone}: cannot read: ${line}`);
  if (zone !== '' && name !== zone && !name.endsWith(`.${zone}`)) {
    throw new Error(`zone ${zone}: not in this zone: ${line}`);
  }
  return { ...read(zone, data), name, ttl };
}

type DataReader = (zone: string, data: readonly string[]) => LabRecord;

const readers: { readonly [type: string]: DataReader } = {
  A: (_zone, [address = '']) => ({ type: 'A', name: '', data: address }),
  AAAA: (_zone, [address = '']) => ({ type: 'AAAA', name: '', data: address }),
  CNAME: (zone, [target = '']) => ({ type: 'CNAME', name: '', data: absolute(zone, target) }),
  NS: (zone, [target = '']) => ({ type: 'NS', name: '', data: absolute(zone, target) }),
  MX: (zone, [preference, exchange = '']) => ({
    type: 'MX',
    name: '',
    data: { preference: Number(preference), exchange: absolute(zone, exchange) },
  }),
  SOA: (zone, [mname = '', rname = '', ...numbers]) => {
    const [serial, refresh, retry, expire, minimum] = numbers.map(Number);
    const times = { serial, refresh, retry, expire, minimum };
    return {
      type: 'SOA',
      name: '',
      data: { mname: absolute(zone, mname), rname: absolute(zone, rname), ...times },
    };
  },
  TXT: (_zone, texts) => ({ type: 'TXT', name: '', data: texts.map(unquote) }),
  CAA: (_zone, [flags, tag = '', value = '']) => ({
    type: 'CAA',
    name: '',
    // The library's type knows three tags, but a record can use any.
    data: { flags: Number(flags), tag: tag as CaaData['tag'], value: unquote(value) },
  }),
};

function absolute(zone: string, name: string): string {
  if (name === '@') return zone;
  return /(?<!\\)\.$/.test(name) ? name.slice(0, -1) : `${name}.${zone}`;
}

function unquote(text: string): string {
  return text.replace(/^"(.*)"$/s, '$1').replace(/\\(.)/g, '$1');
}

/** Records and aliases have the queried name as owner, even from a wildcard. */
export type ZoneLookup =
  | { readonly kind: 'records'; readonly records: readonly LabRecord[] }
  /** `target`: in lower case; may be outside the zone. */
  | { readonly kind: 'alias'; readonly record: LabRecord; readonly target: string }
  /** The NS records of the zone below. */
  | { readonly kind: 'delegated'; readonly servers: readonly LabRecord[] }
  /** The name exists, without records of the type. */
  | { readonly kind: 'nodata' }
  | { readonly kind: 'nxdomain' };

/** RFC 1034, 4.3.2, without following aliases. `name`: lower case, in the zone. */
export function searchZone(zone: LabZone, name: string, type: string): ZoneLookup {
  const cut = delegationAbove(zone, name);
  if (cut !== undefined) return { kind: 'delegated', servers: cut };
  const node = zone.nodes.get(name);
  if (node !== undefined) return searchNode(node, name, type);
  const wildcard = zone.nodes.get(`*.${closestEncloser(zone, name)}`);
  return wildcard === undefined ? { kind: 'nxdomain' } : searchNode(wildcard, name, type);
}

/** The names from the zone's own down to `name`, inclusive. */
function pathTo(zone: LabZone, name: string): readonly string[] {
  const path = [name];
  let at = name;
  while (at !== zone.name) {
    at = at.slice(at.indexOf('.') + 1);
    path.unshift(at);
  }
  return path;
}

function delegationAbove(zone: LabZone, name: string): readonly LabRecord[] | undefined {
  for (const owner of pathTo(zone, name).slice(1)) {
    const servers = zone.nodes.get(owner)?.get('NS');
    if (servers !== undefined) return servers;
  }
  return undefined;
}

/** The longest existing name above a missing one (RFC 4592, 3.3.1). */
function closestEncloser(zone: LabZone, name: string): string {
  return pathTo(zone, name).findLast((owner) => zone.nodes.has(owner)) ?? zone.name;
}

/** The type before the alias: some providers serve records beside a CNAME (RFC 1034, 3.6.2). */
function searchNode(
  node: ReadonlyMap<string, readonly LabRecord[]>,
  name: string,
  type: string,
): ZoneLookup {
  const records = node.get(type);
  if (records !== undefined) return { kind: 'records', records: ownedBy(name, records) };
  const [alias] = ownedBy(name, node.get('CNAME') ?? []);
  if (alias?.type !== 'CNAME') return { kind: 'nodata' };
  return { kind: 'alias', record: alias, target: alias.data.toLowerCase() };
}

function ownedBy(name: string, records: readonly LabRecord[]): readonly LabRecord[] {
  return records.map((record) => ({ ...record, name }));
}
