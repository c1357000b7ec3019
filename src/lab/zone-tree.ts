/** A zone below another is at the next loopback address, which creates a real referral. */
import { type LabRecord, type LabZone, parseZone, searchZone, type ZoneLookup } from './zone.ts';

/** encode.ts makes the wire form. */
export type LabReply = {
  /** The RCODE (RFC 1035, 4.1.1): 0, 2, 3 or 5 from a tree, any from a fault. */
  readonly rcode: number;
  readonly authoritative: boolean;
  readonly answers: readonly LabRecord[];
  readonly authority: readonly LabRecord[];
  readonly additional: readonly LabRecord[];
};

/** `depth`: the number of declared zones (of two or more labels) above it. */
type Placed = { readonly zone: LabZone; readonly depth: number };

const [NOERROR, SERVFAIL, NXDOMAIN, REFUSED] = [0, 2, 3, 5];
/** After this many aliases a recursive server gives up, as in a loop. */
const CHAIN_MAX = 16;

export type TreeOptions = {
  readonly addressAt: (depth: number) => string;
  readonly topLevels: boolean;
};

/** Throws for a line that is invalid or outside its zone. */
export function growZones(
  declared: ReadonlyMap<string, readonly string[]>,
  { addressAt, topLevels }: TreeOptions,
) {
  const placed = new Map<string, Placed>();
  const place = (name: string, more: readonly string[]) => {
    const depth = enclosing(name, declared).length;
    const lines = [...(declared.get(name) ?? []), ...more];
    placed.set(name, { zone: parseZone(name, lines, { serverAddress: addressAt(depth) }), depth });
  };
  const names = topLevels ? withTopLevels(declared.keys()) : new Set(declared.keys());
  for (const name of names) place(name, []);
  // A second pass for parents, since the servers of the zones below are known only now.
  for (const parent of names) {
    const children = [...declared.keys()].filter((name) => parentIn(declared, name) === parent);
    if (children.length > 0)
      place(
        parent,
        children.flatMap((name) => delegation(name, placed)),
      );
  }
  return {
    /** How many addresses serve these zones; the zones of depth 0 are at the first one. */
    depths: 1 + Math.max(0, ...[...placed.values()].map(({ depth }) => depth)),
    /** One depth's authority: REFUSED for a name in none of its zones; a referral below. */
    answer: (name: string, type: string, depth: number) => answer(placed, name, type, depth),
    /** Recursive: NXDOMAIN for a name in no zone; SERVFAIL after CHAIN_MAX aliases. */
    resolve: (name: string, type: string) => resolve(placed, name, type),
  };
}

/** Immutable; a change builds a new one. Names are in lower case, without a trailing dot. */
export type ZoneTree = ReturnType<typeof growZones>;

/** The nearest declared zone above, otherwise the top level, unless that is declared. */
function parentIn(declared: ReadonlyMap<string, unknown>, name: string): string | undefined {
  const [nearest] = enclosing(name, declared);
  const topLevel = topLevelOf(name);
  return nearest ?? (declared.has(topLevel) ? undefined : topLevel);
}

function topLevelOf(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1);
}

function withTopLevels(names: Iterable<string>): ReadonlySet<string> {
  return new Set([...names].flatMap((name) => [name, topLevelOf(name)]));
}

/** Nearest first, without zones of a single label, which share its address. */
function enclosing(name: string, declared: ReadonlyMap<string, unknown>): readonly string[] {
  return ancestors(name).filter((above) => above.includes('.') && declared.has(above));
}

/** `c.b.a` gives `b.a` and `a`. */
function ancestors(name: string): readonly string[] {
  const labels = name.split('.');
  return labels.slice(1).map((_, i) => labels.slice(i + 1).join('.'));
}

/** The NS records of a zone and their addresses, as its parent has them. */
function delegation(name: string, placed: ReadonlyMap<string, Placed>): readonly string[] {
  const nodes = placed.get(name)?.zone.nodes;
  return (nodes?.get(name)?.get('NS') ?? []).flatMap((record) => {
    const server = record.type === 'NS' ? record.data : '';
    const glue = addressTypes.flatMap((type) =>
      (nodes?.get(server)?.get(type) ?? []).map(({ data }) => `${server}. ${type} ${data}`),
    );
    return [`${name}. NS ${server}.`, ...glue];
  });
}

function zoneOf(
  placed: ReadonlyMap<string, Placed>,
  name: string,
  depth?: number,
): LabZone | undefined {
  for (const above of [name, ...ancestors(name)]) {
    const found = placed.get(above);
    if (found !== undefined && (depth === undefined || found.depth === depth)) return found.zone;
  }
  return undefined;
}

/** Own zones only, the AA flag set, a referral below a zone cut (RFC 1034, 4.3.2). */
function answer(
  placed: ReadonlyMap<string, Placed>,
  name: string,
  type: string,
  depth: number,
): LabReply {
  const zone = zoneOf(placed, name, depth);
  if (zone === undefined) return { ...empty, rcode: REFUSED };
  const chain: LabRecord[] = [];
  // An authority follows aliases within its zone (RFC 1034, 4.3.2).
  let at = name;
  let found = searchZone(zone, at, type);
  while (found.kind === 'alias' && chain.length < CHAIN_MAX) {
    chain.push(found.record);
    at = found.target;
    const circle = chain.some((record) => record.name === at);
    if (circle || (at !== zone.name && !at.endsWith(`.${zone.name}`))) break;
    found = searchZone(zone, at, type);
  }
  if (found.kind === 'delegated' && chain.length === 0) return referral(zone, found.servers);
  return { ...toReply(zone, found, chain), authoritative: true };
}

/** From zone to zone until the chain ends. Names in no zone do not exist. */
function resolve(placed: ReadonlyMap<string, Placed>, name: string, type: string): LabReply {
  const chain: LabRecord[] = [];
  let at = name;
  while (chain.length < CHAIN_MAX) {
    const zone = zoneOf(placed, at);
    if (zone === undefined) return { ...empty, rcode: NXDOMAIN, answers: chain };
    const found = searchZone(zone, at, type);
    if (found.kind !== 'alias') return toReply(zone, found, chain);
    chain.push(found.record);
    at = found.target;
  }
  return { ...empty, rcode: SERVFAIL };
}

const addressTypes = ['A', 'AAAA'] as const;

const empty: LabReply = {
  rcode: NOERROR,
  authoritative: false,
  answers: [],
  authority: [],
  additional: [],
};

/** A negative answer has the SOA record; its last field limits the TTL (RFC 2308, 3). */
function toReply(zone: LabZone, found: ZoneLookup, chain: readonly LabRecord[]): LabReply {
  const soa = (zone.nodes.get(zone.name)?.get('SOA') ?? []).map(withNegativeTtl);
  switch (found.kind) {
    case 'records':
      return { ...empty, answers: [...chain, ...found.records] };
    case 'alias':
      return { ...empty, answers: chain };
    case 'nodata':
      return { ...empty, answers: chain, authority: soa };
    case 'nxdomain':
      return { ...empty, rcode: NXDOMAIN, answers: chain, authority: soa };
    case 'delegated':
      return { ...empty, rcode: SERVFAIL, answers: chain };
  }
}

/** The servers of the zone below and, if this zone has them, their addresses. */
function referral(zone: LabZone, servers: readonly LabRecord[]): LabReply {
  const glue = servers.flatMap((record) => {
    const node = record.type === 'NS' ? zone.nodes.get(record.data.toLowerCase()) : undefined;
    return addressTypes.flatMap((type) => node?.get(type) ?? []);
  });
  return { ...empty, authority: servers, additional: glue };
}

function withNegativeTtl(record: LabRecord): LabRecord {
  if (record.type !== 'SOA') return record;
  return { ...record, ttl: Math.min(record.ttl ?? 0, record.data.minimum ?? 0) };
}
