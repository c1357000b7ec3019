/**
 * Zones that begin below the queried one on the same servers. Those servers answer instead of
 * referring, so only the owner of an SOA record shows the zone cut.
 */
import type { Delegation } from '../../core/diagnosis/observation.ts';
import type { NameServer } from '../servers/reply.ts';
import { soaOwner } from '../servers/select.ts';
import { loadedFailure, rememberMs, type Zone } from '../servers/zone.ts';
import { isWithin, parentOf } from '../wire/name.ts';
import type { Loaded } from '../wire/shared.ts';
import type { ObservationContext } from './context.ts';
import { type ServerSeen, sameNames } from './server-view.ts';

/** How long a new zone at the same servers can go unseen while the host name has records. */
const REMEMBER_SECONDS = 600;

/**
 * The deepest zone of the host name according to every server that answers, or `zone` itself. Negative
 * answers carry the SOA record; servers whose answers all have records are queried for it.
 */
export async function zoneAtSameServers(
  context: ObservationContext,
  zone: Zone,
  answered: readonly ServerSeen[],
): Promise<Zone> {
  const { parts, budget, check } = context;
  if (check.hostname === zone.name) return zone;
  const [first] = [...answered].sort((one, other) => hasOwner(other) - hasOwner(one));
  if (first === undefined) return zone;
  const found = first.soaOwner ?? (await ownerAt(first.server));
  if (found === null || !isBelow(found, zone)) return zone;
  const others = await Promise.all(
    answered.map(({ server, soaOwner: owner }) => owner ?? ownerAt(server)),
  );
  // Otherwise one of them still has, or already has, a zone that the others do not have.
  return others.every((owner) => owner === null || owner === found) ? below(zone, found) : zone;

  function ownerAt(server: NameServer): Promise<string | null> {
    const key = `${zone.name} ${check.hostname} ${server.name}`;
    return parts.zonesBySoa.get(key, budget, () => askForOwner(context, zone, server));
  }
}

function hasOwner({ soaOwner: owner }: ServerSeen): number {
  return owner === null ? 0 : 1;
}

function isBelow(name: string, zone: Zone): boolean {
  return name !== zone.name && isWithin(name, zone.name);
}

/** The zone begins at the host name, or contains the name above it. Null without an answer. */
async function askForOwner(
  { check: { hostname }, askServer }: ObservationContext,
  zone: Zone,
  server: NameServer,
): Promise<Loaded<string | null>> {
  const ttlMs = rememberMs(REMEMBER_SECONDS);
  for (const name of [hostname, parentOf(hostname)]) {
    if (name === undefined || !isBelow(name, zone)) break;
    const { reply } = await askServer(zone, server, { name, type: 'SOA' });
    if (reply.kind !== 'message') return loadedFailure(null);
    const owner = soaOwner(reply.message, name);
    if (owner !== null) return { value: owner, ttlMs, failed: false };
  }
  return { value: zone.name, ttlMs, failed: false };
}

/** Its servers hide what the zone above says about the delegation. */
function below(zone: Zone, name: string): Zone {
  const { delegation, servers } = zone;
  const atParent = delegation?.atParent ?? servers.map((server) => server.name);
  const ttlSeconds = delegation?.ttlSeconds ?? 0;
  const above = { parent: zone.name, atParent, ttlSeconds, sameServers: true } as const;
  return { ...zone, name, delegation: above };
}

/** The zone of an earlier observation, if it was at the same servers as `zone`. */
export function sameServersBefore(zone: Zone, previous: Delegation | null): Zone | null {
  if (previous?.kind !== 'delegated' || !previous.sameServers) return null;
  const again = below(zone, previous.zone);
  const isSame =
    previous.parent === zone.name && sameNames(again.delegation?.atParent ?? [], previous.atParent);
  return isSame && isWithin(previous.zone, zone.name) ? again : null;
}
