/** A laboratory's zone, declared in the words of a zone file (RFC 1035, 5.1): `docs CNAME p1.edge.test.` */
import { isIPv6 } from 'node:net';
import type { Answer, CaaData, OptAnswer } from 'dns-packet';
import ipaddr from 'ipaddr.js';
import { encodeName } from './wire-name.ts';

/** A record as dns-packet has it. */
export type LabRecord = Exclude<Answer, OptAnswer>;

/** What a zone holds: by owner, then by type. An owner without any type is an empty non-terminal (RFC 4592, 2.2.2). */
export type Zone = {
  readonly name: string;
  /** Every owner is in lower case, without a trailing dot. */
  readonly nodes: ReadonlyMap<string, ReadonlyMap<string, readonly LabRecord[]>>;
};

/** Short, so that nothing a laboratory changes is remembered for long. */
const TTL_SECONDS = 60;

/** Its last field says how long "there is none" may be remembered (RFC 2308, 4), the third its serial number. */
const SOA_LINE = `@ ${TTL_SECONDS} SOA ns1 hostmaster 1 3600 600 86400 ${TTL_SECONDS}`;

/** `serverAddress`: the IPv4 or IPv6 address of a zone's own name server, unless the zone says otherwise. */
export type ZoneOptions = { readonly serverAddress: string };

/**
 * Reads `owner [TTL] [IN] TYPE data` lines; owners and names in data are relative to the zone unless they end with a
 * dot, `@` is the zone itself; an octet of a label may be written `\DDD`, and a dot in one `\.`. A zone without NS
 * records gets `ns1` and its address, one without an SOA record gets that.
 * Throws on a line it does not understand: a laboratory with a slip in it proves nothing.
 */
export function parseZone(name: string, lines: readonly string[], options: ZoneOptions): Zone {
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

/**
 * One line of a zone as a record; its owner in lower case without a trailing dot, its TTL 60 seconds unless it has
 * one. Throws for a line that cannot be read, and for an owner outside `zone`. Addresses and numbers are not checked.
 */
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

/** Reads the data of one type; owner and TTL are put in later. */
type DataReader = (zone: string, data: readonly string[]) => LabRecord;

const readers: { readonly [type: string]: DataReader } = {
  A: (_zone, [address = '']) => ({ type: 'A', name: '', data: address }),
  AAAA: (_zone, [address = '']) => ({ type: 'AAAA', name: '', data: address }),
  DNAME: (zone, [target = '']) => ({ type: 'DNAME', name: '', data: absolute(zone, target) }),
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
  HTTPS: (zone, [priority, target = '.', ...parameters]) => {
    const name = target === '.' ? '' : absolute(zone, target);
    const head = Buffer.alloc(2);
    head.writeUInt16BE(Number(priority));
    const data = Buffer.concat([head, encodeName(name), ...parameters.map(httpsParameter)]);
    // The library's types leave its unknown types out; it writes their data as it is (RFC 3597).
    return { type: 'UNKNOWN_65', name: '', data } as unknown as LabRecord;
  },
  CAA: (_zone, [flags, tag = '', value = '']) => ({
    type: 'CAA',
    name: '',
    // The library's type knows three tags; the wire, and so a customer, may use any.
    data: { flags: Number(flags), tag: tag as CaaData['tag'], value: unquote(value) },
  }),
};

/** By their names: the number, and how one of its values is written (RFC 9460, 14.3.2). */
const httpsKeys: { readonly [name: string]: readonly [number, (value: string) => number[]] } = {
  port: [3, (value) => [Number(value) >> 8, Number(value) & 0xff]],
  ipv4hint: [4, (value) => ipaddr.parse(value).toByteArray()],
  ipv6hint: [6, (value) => ipaddr.parse(value).toByteArray()],
};

/** `ipv4hint=192.0.2.1,192.0.2.2` */
function httpsParameter(text: string): Buffer {
  const [name = '', values = ''] = text.split('=');
  const known = httpsKeys[name];
  if (known === undefined) throw new Error(`no parameter of an HTTPS record: ${text}`);
  const [key, write] = known;
  const value = values.split(',').flatMap(write);
  return Buffer.from([0, key, 0, value.length, ...value]);
}

function absolute(zone: string, name: string): string {
  if (name === '@') return zone;
  return /(?<!\\)\.$/.test(name) ? name.slice(0, -1) : `${name}.${zone}`;
}

function unquote(text: string): string {
  return text.replace(/^"(.*)"$/s, '$1').replace(/\\(.)/g, '$1');
}

/**
 * What one zone knows of a name and a type. Records and aliases are owned by the name that was asked, also where a
 * wildcard matched.
 */
export type Found =
  | { readonly kind: 'records'; readonly records: readonly LabRecord[] }
  /** `target`: in lower case; it may be outside the zone. */
  | {
      readonly kind: 'alias';
      readonly record: LabRecord;
      readonly target: string;
      /** The DNAME record above the name that the alias is made from (RFC 6672, 3.2). */
      readonly dname?: LabRecord;
    }
  /** Another zone's servers know; these are their NS records. */
  | { readonly kind: 'delegated'; readonly servers: readonly LabRecord[] }
  /** The name exists, without records of the type. */
  | { readonly kind: 'nodata' }
  | { readonly kind: 'nxdomain' };

/**
 * Looks a name up as RFC 1034, 4.3.2 has it: delegations first, then the name, then a wildcard. Aliases are not
 * followed. `name` must be in lower case, and the zone's own name or below it.
 */
export function searchZone(zone: Zone, name: string, type: string): Found {
  const cut = delegationAbove(zone, name);
  if (cut !== undefined) return { kind: 'delegated', servers: cut };
  const redirected = dnameAbove(zone, name);
  if (redirected !== undefined) return redirected;
  const node = zone.nodes.get(name);
  if (node !== undefined) return searchNode(node, name, type);
  const wildcard = zone.nodes.get(`*.${closestEncloser(zone, name)}`);
  return wildcard === undefined ? { kind: 'nxdomain' } : searchNode(wildcard, name, type);
}

/** The names of a zone above `name`, from the zone's own name downwards, `name` included. */
function pathTo(zone: Zone, name: string): readonly string[] {
  const path = [name];
  let at = name;
  while (at !== zone.name) {
    at = at.slice(at.indexOf('.') + 1);
    path.unshift(at);
  }
  return path;
}

function delegationAbove(zone: Zone, name: string): readonly LabRecord[] | undefined {
  for (const owner of pathTo(zone, name).slice(1)) {
    const servers = zone.nodes.get(owner)?.get('NS');
    if (servers !== undefined) return servers;
  }
  return undefined;
}

/** A DNAME record redirects every name below it, also those that have records of their own (RFC 6672, 2.3). */
function dnameAbove(zone: Zone, name: string): Found | undefined {
  for (const owner of pathTo(zone, name).slice(0, -1)) {
    const [dname] = zone.nodes.get(owner)?.get('DNAME') ?? [];
    if (dname?.type !== 'DNAME') continue;
    const target = `${name.slice(0, -owner.length)}${dname.data}`.toLowerCase();
    const record: LabRecord = { type: 'CNAME', name, ttl: dname.ttl ?? 0, data: target };
    return { kind: 'alias', record, target, dname };
  }
  return undefined;
}

/** The longest existing name above one that does not exist (RFC 4592, 3.3.1). */
function closestEncloser(zone: Zone, name: string): string {
  return pathTo(zone, name).findLast((owner) => zone.nodes.has(owner)) ?? zone.name;
}

/**
 * The records of the type that was asked come first, then the alias. A CNAME beside other records is forbidden
 * (RFC 1034, 3.6.2), but customers have them, and some providers serve them like this.
 */
function searchNode(
  node: ReadonlyMap<string, readonly LabRecord[]>,
  name: string,
  type: string,
): Found {
  const records = node.get(type);
  if (records !== undefined) return { kind: 'records', records: ownedBy(name, records) };
  const [alias] = ownedBy(name, node.get('CNAME') ?? []);
  if (alias?.type !== 'CNAME') return { kind: 'nodata' };
  return { kind: 'alias', record: alias, target: alias.data.toLowerCase() };
}

function ownedBy(name: string, records: readonly LabRecord[]): readonly LabRecord[] {
  return records.map((record) => ({ ...record, name }));
}
