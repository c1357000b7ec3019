/** What a zone says to a question (RFC 1034, 4.3.2, with wildcards as in RFC 4592). */
import type { LabRecord, Zone } from './zone.ts';

export type Found =
  | { readonly kind: 'records'; readonly records: readonly LabRecord[] }
  | { readonly kind: 'alias'; readonly record: LabRecord; readonly target: string }
  /** Another zone's servers know. */
  | { readonly kind: 'delegated'; readonly servers: readonly LabRecord[] }
  | { readonly kind: 'nodata' }
  | { readonly kind: 'nxdomain' };

/** Looks a name of this zone up; `name` in lower case. */
export function searchZone(zone: Zone, name: string, type: string): Found {
  const cut = delegationAbove(zone, name);
  if (cut !== undefined) return { kind: 'delegated', servers: cut };
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
