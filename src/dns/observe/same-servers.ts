/**
 * Zones that begin below the queried one on the same servers. Those servers answer instead of
 * referring, so only the owner of an SOA record shows the zone cut.
 */
import { type Delegation, recordsOf } from '../../core/diagnosis/observation.ts';
import type { NameServer } from '../servers/reply.ts';
import { soaOwner } from '../servers/select.ts';
import { loadedFailure, rememberMs, type Zone } from '../servers/zone.ts';
import { isWithin, parentOf } from '../wire/name.ts';
import type { Loaded } from '../wire/shared.ts';
import type { ObservationContext } from './context.ts';
import { type ServerSeen, sameNames } from './server-view.ts';
import { lookupTarget } from './target.ts';

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
  const ownerOf = ({ server, soaOwner: owner }: ServerSeen) =>
    owner ??
    parts.zonesBySoa.get(`${zone.name} ${check.hostname} ${server.name}`, budget, () =>
      askForOwner(context, zone, server),
    );
  const found = await firstOwner(answered, ownerOf);
  if (found === null) return zone;
  // Another server can have the zone if this one does not; an alias would not be at its apex.
  const isCut = isBelow(found, zone);
  const owners = await Promise.all(
    answered.map((seen) => (isCut || showsAddresses(seen) ? ownerOf(seen) : seen.soaOwner)),
  );
  const cut = owners.find((owner) => owner !== null && isBelow(owner, zone));
  if (cut === undefined || cut === null) return zone;
  const agree = owners.every((owner) => owner === null || owner === cut);
  const having = answered.filter((_, index) => owners[index] === cut);
  return agree || (await isRightAt(context, cut, having)) ? below(zone, cut) : zone;
}

function showsAddresses({ view: { cname, a, aaaa } }: ServerSeen): boolean {
  return cname.kind !== 'records' && (a.kind === 'records' || aaaa.kind === 'records');
}

/** Those that are known already come first. */
async function firstOwner(
  answered: readonly ServerSeen[],
  ownerOf: (seen: ServerSeen) => string | null | Promise<string | null>,
): Promise<string | null> {
  const known = answered.find(({ soaOwner: owner }) => owner !== null);
  if (known !== undefined) return known.soaOwner;
  for (const seen of answered) {
    const owner = await ownerOf(seen);
    if (owner !== null) return owner;
  }
  return null;
}

/** If only some servers have the zone, its apex counts only if it has our addresses there. */
async function isRightAt(
  context: ObservationContext,
  cut: string,
  having: readonly ServerSeen[],
): Promise<boolean> {
  if (cut !== context.check.hostname) return false;
  const own = await lookupTarget(context);
  const shown = having.flatMap(({ view: { a, aaaa } }) => [...recordsOf(a), ...recordsOf(aaaa)]);
  return shown.length > 0 && shown.every((address) => own.includes(address));
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

/** The same servers answer for both zones, so the parent's delegation cannot be queried. */
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
