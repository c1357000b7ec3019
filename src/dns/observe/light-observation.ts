/**
 * Whether a name that was not right is as it was: most checks of a pending domain find nothing new. That is seen by
 * one question to each server, or to one of them, and one or two more. At an apex with addresses ours are asked for, too,
 * and where CAA records decide, the names between those and the host name. Whatever differs is for a full check to find
 * out.
 */

import type { CheckDepth } from '../../core/diagnosis/check-depth.ts';
import {
  type Answer,
  type CaaLevel,
  isConclusive,
  type Observation,
  type ResolverView,
  type ServerView,
} from '../../core/diagnosis/observation.ts';
import { type NoZone, REFERRALS_MAX, type Unregistered } from '../servers/delegation.ts';
import { classifyRecursive, type NameServer } from '../servers/reply.ts';
import { soaIn, textsAt } from '../servers/select.ts';
import { withOwnServers, type Zone } from '../servers/zone.ts';
import { levelAgain } from './caa.ts';
import { inZone, type ObservationContext } from './context.ts';
import { answerOf, isSame, sameNames } from './server-view.ts';
import { pointingOfViews, targetAddressesOf } from './target.ts';
import { askResolver } from './world.ts';

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
  const zone = withOwnServers(start, ownServersNow(context, start, previous));
  if (zone.servers.length !== previous.servers.length) return false;
  const wordOf = async (server: NameServer): Promise<Comparison> => {
    const view = previous.servers.find((one) => one.server === server.name);
    if (view === undefined) return 'changed';
    const question = { name: context.check.hostname, type: 'A' } as const;
    return compareFirst(context, view, await context.askServer(zone, server, question));
  };
  const enough = depth === 'light' ? alike(zone.servers, previous.servers) : [];
  const words =
    enough.length > 0
      ? [await firstWord(enough, wordOf)]
      : await Promise.all(zone.servers.map(wordOf));
  // Servers that our own limits keep us from asking say nothing; where that is all of them, it is no check.
  if (words.includes('changed') || !words.includes('same')) return false;
  return (
    (await isSameAaaa(context, zone, previous)) &&
    (await isSameTarget(context, previous)) &&
    (await isSameBeyond(context, previous))
  );
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

type Comparison = 'same' | 'changed' | 'nothing';
type Contact = Awaited<ReturnType<ObservationContext['askServer']>>;

function compareFirst(
  { check: { hostname } }: ObservationContext,
  view: ServerView,
  { address, reply }: Contact,
): Comparison {
  if (reply.kind === 'referral') return 'changed';
  if (reply.kind !== 'message') {
    if (reply.state === 'not_asked') return 'nothing';
    return reply.state === view.state ? 'same' : 'changed';
  }
  const { message } = reply;
  const soa = soaIn(message, hostname);
  const same =
    view.state === 'answers' &&
    address === view.address &&
    message.rcode === view.rcode &&
    isSame(textsAt(message, hostname, 'A'), view.a) &&
    isSameAlias(textsAt(message, hostname, 'CNAME'), view) &&
    (soa === null || view.soa === null || soa.serial === view.soa.serial);
  return same ? 'same' : 'changed';
}

/** Beside a forbidden neighbour the alias may have been seen with the AAAA answer only, which is asked for then. */
function isSameAlias(alias: Answer<string>, { cname, a }: ServerView): boolean {
  const hidden = alias.kind === 'nodata' && cname.kind === 'records' && a.kind === 'records';
  return hidden || isSame(alias, cname);
}

/**
 * Where A says there is nothing, or nothing wrong, the rest may have changed. One server is asked, one that was not
 * right: while that shows the same, the name is as wrong as it was.
 */
async function isSameAaaa(
  context: ObservationContext,
  zone: Zone,
  { servers, targetAddresses }: Observation,
): Promise<boolean> {
  const { check } = context;
  const asked = servers.filter((view) => view.state === 'answers' && wasAskedForAaaa(view));
  const view =
    asked.find((one) => pointingOfViews(check, [one], targetAddresses) !== 'right') ?? asked[0];
  const server = zone.servers.find(({ name }) => name === view?.server);
  if (view === undefined || server === undefined) return true;
  const { reply } = await context.askServer(zone, server, { name: check.hostname, type: 'AAAA' });
  return (
    isSame(answerOf(reply, check.hostname, 'AAAA'), view.aaaa) &&
    isSameBeside(answerOf(reply, check.hostname, 'CNAME'), view)
  );
}

/** The alias of the AAAA answer, which shows none where there are AAAA records as well. */
function isSameBeside(alias: Answer<string>, { cname, aaaa }: ServerView): boolean {
  if (alias.kind === 'records') return isSame(alias, cname);
  return cname.kind !== 'records' || aaaa.kind === 'records';
}

function wasAskedForAaaa({ cname, a }: ServerView): boolean {
  return cname.kind === 'nodata' || (cname.kind === 'records' && a.kind === 'records');
}

/** Where the record was right, it was DNSSEC or CAA that was not: what decided is asked again. */
async function isSameBeyond(context: ObservationContext, previous: Observation): Promise<boolean> {
  const { check, parts } = context;
  if (pointingOfViews(check, previous.servers, previous.targetAddresses) !== 'right') return true;
  const failing = previous.world.filter(fails);
  const still = await Promise.all(
    failing.map(async ({ server }) => {
      const resolver = parts.recursive.servers.find(({ address }) => address === server);
      if (resolver === undefined) return false;
      return (
        classifyRecursive(await askResolver(context, resolver, 'A', false)).kind === 'servfail'
      );
    }),
  );
  return !still.includes(false) && (await areSameLevels(context, previous.caa ?? []));
}

/** The level that decides, and those nearer, where a set would decide in its place; but not the platform's own. */
async function areSameLevels(
  context: ObservationContext,
  caa: readonly CaaLevel[],
): Promise<boolean> {
  const { hostname, apex } = context.check;
  const last = caa.at(-1);
  if (last === undefined || !decides(last)) return true;
  const levels = caa.filter((level) => level === last || apex || level.name !== hostname);
  const same = await Promise.all(
    levels.map(async (level) => {
      const again = await levelAgain(context, level.name);
      // A failure may meet us at another name of the chain each time.
      const moved = again.answer.kind === 'records' && again.publishedAt !== level.publishedAt;
      return !moved && isSame(again.answer, level.answer);
    }),
  );
  return !same.includes(false);
}

/** Perhaps because of signatures; silence and refusals are the resolver's own, and blame nobody. */
function fails({ a }: ResolverView): boolean {
  return a.kind === 'servfail';
}

/** A set, or none for want of an answer. */
function decides({ answer }: CaaLevel): boolean {
  return answer.kind === 'records' || !isConclusive(answer);
}

/** Nothing about it blocked: a right record, answers of the world, and no CAA set or failure. */
function wasWell({ check }: ObservationContext, previous: Observation): boolean {
  return (
    pointingOfViews(check, previous.servers, previous.targetAddresses) === 'right' &&
    (!previous.world.some(fails) || previous.world.some(({ a }) => isConclusive(a))) &&
    !previous.caa?.some(decides)
  );
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
  if (zone.delegation === null || delegation === null) return zone.delegation === delegation;
  if (delegation.kind !== 'delegated' || delegation.zone !== zone.name) return false;
  const known = parts.authorities.knownOwnServers(zone);
  return (
    sameNames(delegation.atParent, zone.delegation.atParent) &&
    (!known || delegation.atZone === null || sameNames(known, delegation.atZone))
  );
}
