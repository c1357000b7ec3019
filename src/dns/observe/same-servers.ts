/**
 * Zones below the one that was asked, held by the same servers: those answer for them instead of referring to them, so
 * only the SOA record that comes with an answer tells.
 */
import type { Delegation } from '../../core/diagnosis/observation.ts';
import type { NameServer } from '../servers/reply.ts';
import { zoneBySoa } from '../servers/select.ts';
import { failed, rememberMs, type Zone } from '../servers/zone.ts';
import { isWithin, parentOf } from '../wire/name.ts';
import type { Loaded } from '../wire/shared.ts';
import type { ObservationContext } from './context.ts';
import { type Seen, sameNames } from './server-view.ts';

/** For so long a zone that begins at the same servers may go unseen where nothing but records show. Our choice. */
const REMEMBER_SECONDS = 600;

/**
 * Resolves with the deepest zone that the host name is in by the word of servers that answered for `zone`; with `zone`
 * itself where there is none below. Where their answers have no SOA record, as those with records have none, one server
 * is asked, and its word remembered.
 */
export async function zoneAtSameServers(
  context: ObservationContext,
  zone: Zone,
  answered: readonly Seen[],
): Promise<Zone> {
  const { parts, budget, check } = context;
  const { hostname } = check;
  const [first] = answered;
  if (hostname === zone.name || first === undefined) return zone;
  const seen = answered.flatMap((one) => one.zone ?? []);
  if (seen.length > 0) return below(zone, seen);
  const found = await parts.zonesBySoa.get(`${zone.name} ${hostname}`, budget, () =>
    askForZone(context, zone, first.server),
  );
  return below(zone, [found]);
}

/** A zone begins at the host name, or it is in that of the name above. */
async function askForZone(
  { check: { hostname }, askServer }: ObservationContext,
  zone: Zone,
  server: NameServer,
): Promise<Loaded<string>> {
  for (const name of [hostname, parentOf(hostname)]) {
    if (name === undefined || name === zone.name || !isWithin(name, zone.name)) break;
    const { reply } = await askServer(zone, server, { name, type: 'SOA' });
    if (reply.kind !== 'message') return failed(zone.name);
    const found = zoneBySoa(reply.message, name);
    if (found !== null) return { value: found, ttlMs: rememberMs(REMEMBER_SECONDS), failed: false };
  }
  return { value: zone.name, ttlMs: rememberMs(REMEMBER_SECONDS), failed: false };
}

function below(zone: Zone, names: readonly string[]): Zone {
  const deepest = names
    .filter((name) => name !== zone.name && isWithin(name, zone.name))
    .toSorted((one, other) => other.length - one.length)[0];
  return deepest === undefined ? zone : zoneHeldBeside(zone, deepest);
}

/** The servers of the zone above are all that is known of its delegation: they hide what that zone says of it. */
function zoneHeldBeside(zone: Zone, name: string): Zone {
  const { delegation, servers } = zone;
  const atParent = delegation?.atParent ?? servers.map((server) => server.name);
  const ttlSeconds = delegation?.ttlSeconds ?? 0;
  return { ...zone, name, delegation: { parent: zone.name, atParent, ttlSeconds } };
}

/** Returns the zone of an earlier observation where it was one that `zone`'s own servers hold; undefined where not. */
export function heldBesideBefore(zone: Zone, previous: Delegation | null): Zone | undefined {
  if (previous?.kind !== 'delegated' || previous.atZone !== null) return undefined;
  const again = zoneHeldBeside(zone, previous.zone);
  const isSame =
    previous.parent === zone.name && sameNames(again.delegation?.atParent ?? [], previous.atParent);
  return isSame && isWithin(previous.zone, zone.name) ? again : undefined;
}
