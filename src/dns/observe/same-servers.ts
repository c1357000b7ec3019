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
 * The deepest zone of the host name, or `zone` itself. Negative answers carry the SOA record; if
 * all answers have records, one server is queried for it.
 */
export async function zoneAtSameServers(
  context: ObservationContext,
  zone: Zone,
  answered: readonly ServerSeen[],
): Promise<Zone> {
  const { parts, budget, check } = context;
  const { hostname } = check;
  const [first] = answered;
  if (hostname === zone.name || first === undefined) return zone;
  const owners = answered.flatMap(({ soaOwner: owner }) => owner ?? []);
  if (owners.length > 0) return deepest(zone, owners);
  const key = `${zone.name} ${hostname}`;
  const found = await parts.zonesBySoa.get(key, budget, () =>
    askForOwner(context, zone, first.server),
  );
  return deepest(zone, [found]);
}

/** The zone begins at the host name, or contains the name above it. */
async function askForOwner(
  { check: { hostname }, askServer }: ObservationContext,
  zone: Zone,
  server: NameServer,
): Promise<Loaded<string>> {
  const ttlMs = rememberMs(REMEMBER_SECONDS);
  for (const name of [hostname, parentOf(hostname)]) {
    if (name === undefined || name === zone.name || !isWithin(name, zone.name)) break;
    const { reply } = await askServer(zone, server, { name, type: 'SOA' });
    if (reply.kind !== 'message') return loadedFailure(zone.name);
    const owner = soaOwner(reply.message, name);
    if (owner !== null) return { value: owner, ttlMs, failed: false };
  }
  return { value: zone.name, ttlMs, failed: false };
}

function deepest(zone: Zone, names: readonly string[]): Zone {
  const [found] = names
    .filter((name) => name !== zone.name && isWithin(name, zone.name))
    .toSorted((one, other) => other.length - one.length);
  return found === undefined ? zone : below(zone, found);
}

/** Its servers hide what the zone above says about the delegation. */
function below(zone: Zone, name: string): Zone {
  const { delegation, servers } = zone;
  const atParent = delegation?.atParent ?? servers.map((server) => server.name);
  const ttlSeconds = delegation?.ttlSeconds ?? 0;
  return { ...zone, name, delegation: { parent: zone.name, atParent, ttlSeconds } };
}

/** The zone of an earlier observation, if it was at the same servers as `zone`. */
export function sameServersBefore(zone: Zone, previous: Delegation | null): Zone | null {
  if (previous?.kind !== 'delegated' || previous.atZone !== null) return null;
  const again = below(zone, previous.zone);
  const isSame =
    previous.parent === zone.name && sameNames(again.delegation?.atParent ?? [], previous.atParent);
  return isSame && isWithin(previous.zone, zone.name) ? again : null;
}
