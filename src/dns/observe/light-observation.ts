/** Most checks find the name unchanged with a few queries. Any difference leads to a full check. */
import type { CheckDepth } from '../../core/diagnosis/check-depth.ts';
import type { DnsAnswer, Observation, ServerView } from '../../core/diagnosis/observation.ts';
import type { Verdict } from '../../core/life/lifecycle.ts';
import { HOUR } from '../../core/time.ts';
import type { Contact } from '../servers/authority.ts';
import { type NoZone, REFERRALS_MAX, type Unregistered } from '../servers/delegation.ts';
import { QUERIED_MAX } from '../servers/query-order.ts';
import type { NameServer } from '../servers/reply.ts';
import { soaIn, textsAt } from '../servers/select.ts';
import { type OwnServers, withOwnServers, type Zone } from '../servers/zone.ts';
import { isSameBeyond, wasWell } from './compared-beyond.ts';
import { type CheckTarget, inZone, type ObservationContext } from './context.ts';
import { sameServersBefore } from './same-servers.ts';
import { answerOf, isSame, sameNames } from './server-view.ts';
import { pointingOfViews, targetAddressesOf } from './target.ts';

type Start = Zone | Unregistered | NoZone;

/** `light` queries one of the servers that had the same answer, `compare` each of them. */
export type LightDepth = Exclude<CheckDepth, 'full'>;

export async function stillHolds(
  given: ObservationContext,
  start: Start,
  previous: Observation,
  depth: LightDepth,
): Promise<boolean> {
  const context = inZone(given, previous.delegation);
  const { servers, targetAddresses } = previous;
  const pointing = pointingOfViews(context.check, servers, targetAddresses);
  if (!mayStillHold(context, previous, pointing)) return false;
  if (start.kind !== 'zone') return isSameEnd(start, previous);
  const zone = await zoneAsBefore(context, start, previous);
  const same = sameServersBefore(zone, previous.delegation) ?? zone;
  return isUnchanged(context, same, { previous, pointing, depth });
}

/** A correct or incomplete observation must always be repeated in full. */
function mayStillHold(
  { check }: ObservationContext,
  previous: Observation,
  pointing: Verdict,
): boolean {
  return (
    previous.hostname === check.hostname &&
    previous.view === 'authoritative' &&
    !wasWell(previous, pointing) &&
    !wasHalfSeen(check, previous, pointing)
  );
}

/** Servers answered, but not enough to decide, which is usually temporary. */
function wasHalfSeen(
  { apex }: CheckTarget,
  { servers, targetAddresses }: Observation,
  pointing: Verdict,
): boolean {
  return (
    servers.some(({ state }) => state === 'answers') &&
    ((apex && targetAddresses.length === 0) || pointing === 'unknown')
  );
}

/** If only the parent zone is cached, its servers are queried for the same zone cut. */
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

/** `pointing`: of the previous observation. */
type Before = {
  readonly previous: Observation;
  readonly pointing: Verdict;
  readonly depth: LightDepth;
};

async function isUnchanged(
  context: ObservationContext,
  start: Zone,
  { previous, pointing, depth }: Before,
): Promise<boolean> {
  if (!isSameDelegation(context, start, previous)) return false;
  const whole = withOwnServers(start, ownServersNow(context, start, previous));
  const zone = queriedBefore(whole, previous);
  if (zone.servers.length !== previous.servers.length) return false;
  const wordOf = async (server: NameServer): Promise<Comparison> => {
    const view = previous.servers.find((one) => one.server === server.name);
    return view === undefined ? 'changed' : compareServer(context, zone, server, view);
  };
  const enough = depth === 'light' ? alike(zone.servers, previous.servers) : [];
  const words =
    enough.length > 0
      ? [await firstWord(enough, wordOf)]
      : await Promise.all(zone.servers.map(wordOf));
  // If our own rate limits skip all servers, nothing was checked.
  if (words.includes('changed') || !words.includes('same')) return false;
  return (
    (await isSameBesideA(context, zone, previous)) &&
    (await isSameTarget(context, previous)) &&
    (await isSameBeyond(context, zone, previous, pointing))
  );
}

/** A zone with many servers is compared with those that were queried. */
function queriedBefore(zone: Zone, { servers }: Observation): Zone {
  if (zone.servers.length <= QUERIED_MAX) return zone;
  const names = new Set(servers.map(({ server }) => server));
  return { ...zone, servers: zone.servers.filter(({ name }) => names.has(name)) };
}

/** The servers that answered, if all had the same answer. */
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

/** In random order, so that none is skipped for long. */
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

/** The target's addresses can have changed to those of the apex. */
async function isSameTarget(
  context: ObservationContext,
  { servers, targetAddresses }: Observation,
): Promise<boolean> {
  const shown = servers.some(({ a, aaaa }) => a.kind === 'records' || aaaa.kind === 'records');
  if (!context.check.apex || !shown) return true;
  return sameNames(await targetAddressesOf(context, servers, false), targetAddresses);
}

/** If it is not cached, the earlier one: only a full check queries it. */
function ownServersNow(
  { parts }: ObservationContext,
  zone: Zone,
  { delegation }: Observation,
): OwnServers {
  const before = delegation?.kind === 'delegated' ? delegation.atZone : null;
  const known = parts.authorities.knownOwnServers(zone);
  return known ?? before?.map((name) => ({ name, glue: [] })) ?? null;
}

/** If our resolvers failed for every name, only a full check shows whether they still do. */
function isSameEnd(start: Unregistered | NoZone, previous: Observation): boolean {
  const { delegation, servers, resolversWork } = previous;
  if (start.kind === 'unregistered') {
    return delegation?.kind === 'unregistered' && delegation.zone === start.zone;
  }
  const [view] = servers;
  if (resolversWork === false) return false;
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
    (!known ||
      delegation.atZone === null ||
      sameNames(
        known.map(({ name }) => name),
        delegation.atZone,
      ))
  );
}

// Whether a server still gives its earlier answer for the host name.

/** `nothing`: our own rate limits prevented the query. */
type Comparison = 'same' | 'changed' | 'nothing';
/** One query for A. */
async function compareServer(
  context: ObservationContext,
  zone: Zone,
  server: NameServer,
  view: ServerView,
): Promise<Comparison> {
  const name = context.check.hostname;
  const first = await context.askServer(zone, server, { name, type: 'A' });
  if (!isAliasAlone(first, view)) return compareFirst(context, view, first);
  const { reply } = await context.askServer(zone, server, { name, type: 'CNAME' });
  return isSame(answerOf(reply, name, 'CNAME'), view.cname) ? 'same' : 'changed';
}

/** A failed again, and only the query for CNAME showed the alias. */
function isAliasAlone({ reply }: Contact, { state, rcode }: ServerView): boolean {
  const isFailure = reply.kind !== 'message' && reply.kind !== 'referral';
  return isFailure && state === 'answers' && reply.rcode !== null && reply.rcode === rcode;
}

function compareFirst(
  { check: { hostname } }: ObservationContext,
  view: ServerView,
  { address, reply }: Contact,
): Comparison {
  if (reply.kind === 'referral') return 'changed';
  if (reply.kind !== 'message') {
    if (reply.state === 'not_asked' || view.state === 'not_asked') return 'nothing';
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

/** With a forbidden CNAME neighbor, the alias can be visible only in the AAAA answer. */
function isSameAlias(alias: DnsAnswer<string>, { cname, a }: ServerView): boolean {
  const hidden = alias.kind === 'nodata' && cname.kind === 'records' && a.kind === 'records';
  return hidden || isSame(alias, cname);
}

// The query of a light check beside A: what A does not show can have changed.

/** While one server that was wrong is unchanged, the name is still wrong. */
async function isSameBesideA(
  context: ObservationContext,
  zone: Zone,
  { servers, targetAddresses }: Observation,
): Promise<boolean> {
  const { check } = context;
  const asked = servers.filter((view) => view.state === 'answers' && wasAskedForAaaa(view));
  const isWrong = (one: ServerView) => pointingOfViews(check, [one], targetAddresses) !== 'right';
  const view =
    asked.find((one) => isWrong(one) && one.mx !== null) ?? asked.find(isWrong) ?? asked[0];
  const server = zone.servers.find(({ name }) => name === view?.server);
  if (view === undefined || server === undefined) return true;
  const [type, before] = nextQuery(context, view);
  const { reply } = await context.askServer(zone, server, { name: check.hostname, type });
  return (
    isSame(answerOf(reply, check.hostname, type), before) &&
    isSameBeside(answerOf(reply, check.hostname, 'CNAME'), view)
  );
}

type BesideQuery = readonly [type: 'AAAA' | 'MX' | 'TXT', before: DnsAnswer<string>];

/** Longer than the time between two checks of a pending domain. */
const TURN_MS = HOUR;

/**
 * AAAA, MX and TXT in turns, if a full check queried all three. Some providers, such as Route 53, never
 * change a zone's serial number, so it does not show that MX or TXT have changed. AAAA records
 * that the customer has to delete are queried in every check.
 */
function nextQuery(
  { parts: { besideTurns }, check: { hostname } }: ObservationContext,
  { cname, aaaa, mx, txt }: ServerView,
): BesideQuery {
  const hasTurns = cname.kind === 'nodata' && aaaa.kind === 'nodata';
  if (!hasTurns || mx === null || txt === null) return ['AAAA', aaaa];
  const all = [
    ['AAAA', aaaa],
    ['MX', mx],
    ['TXT', txt],
  ] as const;
  const turn = besideTurns.peek(hostname) ?? 0;
  besideTurns.put(hostname, { value: turn + 1, ttlMs: TURN_MS, failed: false });
  return all[turn % all.length] ?? all[0];
}

/** AAAA records hide an alias. */
function isSameBeside(alias: DnsAnswer<string>, { cname, aaaa }: ServerView): boolean {
  if (alias.kind === 'records') return isSame(alias, cname);
  return cname.kind !== 'records' || aaaa.kind === 'records';
}

function wasAskedForAaaa({ cname, a }: ServerView): boolean {
  return cname.kind === 'nodata' || (cname.kind === 'records' && a.kind === 'records');
}
