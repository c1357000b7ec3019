/**
 * Whether a name that was not right is as it was: most checks of a pending domain find nothing new. That is seen by
 * one question to each server, or to one of them, and one or two more. At an apex with addresses ours are asked for, too,
 * and where CAA records decide, the names between those and the host name. Whatever differs is for a full check to find
 * out.
 */

import type { CheckDepth } from '../../core/diagnosis/check-depth.ts';
import type { Observation, ServerView } from '../../core/diagnosis/observation.ts';
import { type NoZone, REFERRALS_MAX, type Unregistered } from '../servers/delegation.ts';
import type { NameServer } from '../servers/reply.ts';
import { withOwnServers, type Zone } from '../servers/zone.ts';
import { isSameBeyond, wasWell } from './compared-beyond.ts';
import { type Comparison, compareServer } from './compared-server.ts';
import { inZone, type ObservationContext } from './context.ts';
import { isSameBesideA, oneOf } from './light-beside.ts';
import { heldBesideBefore } from './same-servers.ts';
import { isSame, sameNames } from './server-view.ts';
import { pointingOfViews, targetAddressesOf } from './target.ts';

/** A zone, or why there is none. */
type Start = Zone | Unregistered | NoZone;

/** `light` asks one of the servers that showed the same, `compare` asks each of them (src/core/diagnosis/check-depth.ts). */
export type LightDepth = Exclude<CheckDepth, 'full'>;

/** Whether everything that decided an earlier observation is as it was; false as soon as anything differs. */
export async function stillHolds(
  given: ObservationContext,
  start: Start,
  previous: Observation,
  depth: LightDepth,
): Promise<boolean> {
  const context = inZone(given, previous.delegation);
  if (!mayStillHold(context, previous)) return false;
  if (start.kind !== 'zone') return isSameEnd(start, previous);
  return isUnchanged(context, await zoneAsBefore(context, start, previous), previous, depth);
}

/** An observation that was right, or that saw too little, never holds. */
function mayStillHold(context: ObservationContext, previous: Observation): boolean {
  return (
    previous.hostname === context.check.hostname &&
    previous.view === 'authoritative' &&
    // What our own resolvers kept us from seeing is asked for again.
    previous.resolversWork !== false &&
    !wasWell(context, previous) &&
    !wasHalfSeen(context, previous)
  );
}

/** Servers answered, but what they or the target showed was not enough to decide: mostly for a moment only. */
function wasHalfSeen(
  { check }: ObservationContext,
  { servers, targetAddresses }: Observation,
): boolean {
  return (
    servers.some(({ state }) => state === 'answers') &&
    ((check.apex && targetAddresses.length === 0) ||
      pointingOfViews(check, servers, targetAddresses) === 'unknown')
  );
}

/** Where only the zone above is remembered, its servers are asked for the cut again that was there before. */
async function zoneAsBefore(
  context: ObservationContext,
  start: Zone,
  { delegation }: Observation,
): Promise<Zone> {
  const held = heldBesideBefore(start, delegation);
  if (held !== undefined) return held;
  let zone = start;
  for (let referrals = 0; referrals < REFERRALS_MAX; referrals++) {
    const [server] = zone.servers;
    if (server === undefined || !delegation?.zone.endsWith(`.${zone.name}`)) return zone;
    const question = { name: context.check.hostname, type: 'A' } as const;
    const { reply } = await context.askServer(zone, server, question);
    if (reply.kind !== 'referral') return zone;
    zone = context.parts.authorities.delegated(reply, zone);
  }
  return zone;
}

/** Asks as little as it takes. */
async function isUnchanged(
  context: ObservationContext,
  start: Zone,
  previous: Observation,
  depth: LightDepth,
): Promise<boolean> {
  if (!isSameDelegation(context, start, previous)) return false;
  const zone = thoseAskedBefore(
    withOwnServers(start, ownServersNow(context, start, previous)),
    previous,
  );
  if (zone.servers.length !== previous.servers.length) return false;
  const several = depth === 'compare' && zone.servers.length > 1;
  const wordOf = async (server: NameServer): Promise<Comparison> => {
    const view = previous.servers.find((one) => one.server === server.name);
    if (view === undefined) return 'changed';
    // Where the others are asked for A, and one for AAAA, this one may be asked for what stands beside.
    const first = several ? oneOf('A', view) : (['A', view.a] as const);
    const question = { name: context.check.hostname, type: first[0] };
    const contact = await context.askServer(zone, server, question);
    return compareServer(context, zone, server, view, first, contact);
  };
  const enough = depth === 'light' ? alike(zone.servers, previous.servers) : [];
  const words =
    enough.length > 0
      ? [await firstWord(enough, wordOf)]
      : await Promise.all(zone.servers.map(wordOf));
  // Servers that our own limits keep us from asking say nothing; where that is all of them, it is no check.
  if (words.includes('changed') || !words.includes('same')) return false;
  return (
    (await isSameBesideA(context, zone, previous, !several)) &&
    (await isSameTarget(context, previous)) &&
    (await isSameBeyond(context, previous, zone))
  );
}

/** A zone of many servers has them asked in turns, so that they are compared with themselves. */
function thoseAskedBefore(zone: Zone, { servers }: Observation): Zone {
  const names = new Set(servers.map(({ server }) => server));
  return { ...zone, servers: zone.servers.filter(({ name }) => names.has(name)) };
}

/** The servers that answered, where all of those showed the same: any of them will do. Otherwise none. */
function alike(servers: readonly NameServer[], views: readonly ServerView[]) {
  const answering = views.filter(({ state }) => state === 'answers');
  const [first] = answering;
  const areAlike = answering.every(
    ({ rcode, a, cname }) =>
      rcode === first?.rcode && isSame(a, first.a) && isSame(cname, first.cname),
  );
  return areAlike
    ? servers.filter(({ name }) => answering.some(({ server }) => server === name))
    : [];
}

/** Of any server that we may ask just now, in a random order, so that none is left out for long. */
async function firstWord(
  servers: readonly NameServer[],
  wordOf: (server: NameServer) => Promise<Comparison>,
): Promise<Comparison> {
  const from = Math.floor(Math.random() * servers.length);
  for (const server of [...servers.slice(from), ...servers.slice(0, from)]) {
    const word = await wordOf(server);
    if (word !== 'nothing') return word;
  }
  return 'nothing';
}

/** An apex is measured by what the target resolves to, which may have moved to where the apex points already. */
async function isSameTarget(
  context: ObservationContext,
  { servers, targetAddresses }: Observation,
): Promise<boolean> {
  const shown = servers.some(({ a, aaaa }) => a.kind === 'records' || aaaa.kind === 'records');
  if (!context.check.apex || !shown) return true;
  return sameNames(await targetAddressesOf(context, servers, false), targetAddresses);
}

/** The zone's own NS set; where it is not remembered, as it was: to ask for it is for a whole check. */
function ownServersNow({ parts }: ObservationContext, zone: Zone, { delegation }: Observation) {
  const before = delegation?.kind === 'delegated' ? delegation.atZone : null;
  return parts.authorities.knownOwnServers(zone) ?? before;
}

function isSameEnd(start: Unregistered | NoZone, { delegation, servers }: Observation): boolean {
  if (start.kind === 'unregistered') {
    return delegation?.kind === 'unregistered' && delegation.zone === start.zone;
  }
  const [view] = servers;
  return delegation === null && view.server === start.server && view.cname.kind === start.kind;
}

function isSameDelegation(
  { parts }: ObservationContext,
  zone: Zone,
  { delegation }: Observation,
): boolean {
  if (delegation?.kind === 'undelegated') return delegation.parent === zone.name;
  if (zone.delegation === null || delegation === null) return zone.delegation === delegation;
  if (delegation.kind !== 'delegated' || delegation.zone !== zone.name) return false;
  const known = parts.authorities.knownOwnServers(zone);
  return (
    sameNames(delegation.atParent, zone.delegation.atParent) &&
    (!known || delegation.atZone === null || sameNames(known, delegation.atZone))
  );
}
