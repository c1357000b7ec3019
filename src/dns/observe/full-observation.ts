/**
 * A full check. Its questions, in order; `Observation` is in src/core/diagnosis/observation.ts:
 *
 * | question                    | servers           | condition                    | stored in           | file            |
 * | --------------------------- | ----------------- | ---------------------------- | ------------------- | --------------- |
 * | A name                      | each              | no alias in answer to MX     | servers[].cname, a  | server-view.ts  |
 * | MX name                     | last of several   | not an apex                  | servers[].mx        | server-view.ts  |
 * | AAAA name                   | each              | name exists, no CNAME        | servers[].aaaa      | server-view.ts  |
 * | NS zone                     | first             | one answers, zone delegated  | delegation.atZone   | view-zone.ts    |
 * | SOA name, SOA its parent    | first             | no negative answer; 10 min   | delegation.zone     | same-servers.ts |
 * | A, AAAA target              | the target's zone | apex, or addresses found     | targetAddresses     | target.ts       |
 * | A random sibling            | first             | not an apex                  | nearby.sibling      | nearby.ts       |
 * | CNAME name.zone, www.name … | first             | wrong                        | nearby.doubled, …   | nearby.ts       |
 * | HTTPS name                  | first             | apex                         | nearby.https        | this file       |
 * | A, AAAA its target          | the target's zone | the record leads elsewhere   | nearby.https        | this file       |
 * | MX, TXT name                | first without one | wrong, not an apex, no CNAME | servers[].mx, txt   | nearby.ts       |
 * | A along a foreign CNAME     | each name's zone  | wrong                        | nearby.chain        | nearby.ts       |
 * | SOA zone                    | each              | not in an earlier answer     | servers[].soa       | this file       |
 * | CAA target, then upward     | each name's zone  | a server answers             | caa                 | caa.ts          |
 * | A, AAAA name, with DO       | two resolvers     | right                        | world               | world.ts        |
 * | SOA zone, with DO           | one resolver      | wrong                        | signatures          | signatures.ts   |
 * | CAA own levels, with DO     | one resolver      | zone is signed               | signatures          | signatures.ts   |
 * | A name, plain               | one               | it does not know its zone    | plainAnswer         | this file       |
 * | NS top-level domain         | the resolvers     | no server or address found   | resolversWork       | context.ts      |
 */
import {
  type CaaLevel,
  type Delegation,
  type DnsAnswer,
  type HttpsRecord,
  isConclusive,
  type Nearby,
  type Observation,
  type ServerView,
} from '../../core/diagnosis/observation.ts';
import { proxiedAddresses } from '../../core/diagnosis/proxies.ts';
import type { NoZone, Unregistered } from '../servers/delegation.ts';
import { NO_RESOLVER } from '../servers/recursive.ts';
import { failureOf, type NameServer, noReply } from '../servers/reply.ts';
import { answerAt, soaIn } from '../servers/select.ts';
import { delegationOf, type OwnServers, registrableDomain, type Zone } from '../servers/zone.ts';
import { isWithin } from '../wire/name.ts';
import { climbAsIfPointed } from './caa-of-check.ts';
import { inZone, type ObservationContext, resolversWork } from './context.ts';
import {
  askBeside,
  askMistakes,
  askSiblings,
  chainOf,
  dnameOf,
  nothingNearby,
  type Siblings,
  siblingOf,
} from './nearby.ts';
import { zoneAtSameServers } from './same-servers.ts';
import {
  allOf,
  answering,
  answerOf,
  noReplyView,
  type ServerSeen,
  withoutReferral,
} from './server-view.ts';
import { observeSignatures } from './signatures.ts';
import { addressesBehind, lookupTarget, pointingOfViews, targetAddressesOf } from './target.ts';
import { thoseThatAnswer, viewZone } from './view-zone.ts';
import { observeWorld } from './world.ts';

type ZoneObservation = Pick<
  Observation,
  | 'servers'
  | 'world'
  | 'signatures'
  | 'nearby'
  | 'caa'
  | 'targetAddresses'
  | 'resolversWork'
  | 'plainAnswer'
> & {
  readonly delegation: Delegation | null;
};

/** Network failures do not reject it. */
export async function observeInFull(
  context: ObservationContext,
  start: Zone | Unregistered | NoZone,
): Promise<Observation> {
  const found =
    start.kind === 'zone' ? await observeZone(context, start) : await withoutZone(context, start);
  return {
    hostname: context.check.hostname,
    at: context.at,
    view: 'authoritative',
    whyRecursive: null,
    ...found,
    cost: context.cost(),
  };
}

/** The only view is the registry's denial or the resolver's failure. */
async function withoutZone(
  context: ObservationContext,
  start: Unregistered | NoZone,
): Promise<ZoneObservation> {
  const nothing = { world: [], nearby: nothingNearby, caa: null, targetAddresses: [] };
  if (start.kind !== 'unregistered') {
    const address = start.server === NO_RESOLVER ? null : start.server;
    const view = noReplyView(start.server, address, noReply(start.kind));
    const works = start.kind === 'servfail' ? { resolversWork: await resolversWork(context) } : {};
    return { ...nothing, delegation: null, servers: [view], ...works };
  }
  const { zone, parent, server, address, reply } = start;
  const view: ServerView = {
    server,
    address,
    ...answering(reply),
    ...allOf({ kind: 'nxdomain' }),
    mx: null,
    txt: null,
    soa: soaIn(reply.message, zone),
  };
  return { ...nothing, delegation: { kind: 'unregistered', zone, parent }, servers: [view] };
}

async function observeZone(given: ObservationContext, start: Zone): Promise<ZoneObservation> {
  const { zone: above, seen, atZone } = await viewZone(given, start);
  const answered = thoseThatAnswer(seen);
  const plainly = await askPlainly(given, above, seen, atZone);
  if (answered.length === 0) return { ...(await withoutAnswer(given, above, seen)), ...plainly };
  const zone = await zoneAtSameServers(given, above, answered);
  const delegation =
    undelegatedIn(given, zone) ?? delegationOf(zone, zone === above ? atZone : null);
  const context = inZone(given, delegation);
  const { check } = context;
  const views = seen.map(({ view }) => view);
  const targetAddresses = await targetAddressesOf(context, views, false);
  const pointing = pointingOfViews(check, views, targetAddresses);
  const servers = new Set(answered.map(({ server }) => server.name));
  const seenSoFar = { view: 'authoritative', delegation, servers: views, targetAddresses } as const;
  const isProxied = proxiedAddresses(seenSoFar).length > 0;
  const climbing = climbAsIfPointed(context, { zone, servers }, isProxied);
  // Resolvers are only queried once the record is right: an earlier query would make them cache its
  // absence (RFC 2308, 5).
  const asking = pointing === 'right' ? observeWorld(context) : Promise.resolve([]);
  const [around, caa, world, signatures] = await Promise.all([
    observeAround(context, zone, seen, pointing, climbing),
    climbing,
    asking,
    delegation?.kind === 'undelegated'
      ? []
      : observeSignatures(context, { zone, pointing, views, world: asking, caa: climbing }),
  ]);
  const { nearby } = around;
  const isBesideApex = nearby.wrongHosts.some(({ a }) => a?.kind === 'records');
  return {
    ...plainly,
    delegation,
    servers: around.servers,
    nearby,
    caa,
    world: world.map(({ view }) => view),
    ...(signatures.length > 0 && { signatures }),
    targetAddresses:
      isBesideApex && targetAddresses.length === 0 ? await lookupTarget(context) : targetAddresses,
  };
}

/** The parent's servers answered for the registrable domain instead of referring to others. */
function undelegatedIn({ check: { hostname } }: ObservationContext, zone: Zone): Delegation | null {
  const domain = registrableDomain(hostname);
  if (!domain.endsWith(`.${zone.name}`)) return null;
  return { kind: 'undelegated', zone: domain, parent: zone.name };
}

const unaddressed: ReadonlySet<ServerView['state']> = new Set(['no_address', 'lookup_failed']);

/**
 * Drops the zone from the cache, so the next check looks up the delegation again. A missing address can
 * be our resolvers' fault.
 */
async function withoutAnswer(
  context: ObservationContext,
  zone: Zone,
  [first, ...rest]: readonly [ServerSeen, ...ServerSeen[]],
): Promise<ZoneObservation> {
  context.parts.authorities.forget(zone, context.check.hostname);
  const isUnaddressed = [first, ...rest].some(({ view }) => unaddressed.has(view.state));
  return {
    delegation: delegationOf(zone, null),
    servers: [first.view, ...rest.map(({ view }) => view)],
    world: [],
    nearby: nothingNearby,
    caa: null,
    targetAddresses: [],
    ...(isUnaddressed ? { resolversWork: await resolversWork(context) } : {}),
  };
}

async function observeAround(
  context: ObservationContext,
  zone: Zone,
  seen: readonly [ServerSeen, ...ServerSeen[]],
  pointing: 'right' | 'wrong' | 'unknown',
  climbing: Promise<readonly CaaLevel[]>,
): Promise<{ readonly servers: Observation['servers']; readonly nearby: Nearby }> {
  const answered = thoseThatAnswer(seen);
  const [one] = answered;
  const wrong = pointing === 'wrong' && one !== undefined;
  const names = new Set(answered.map(({ server }) => server.name));
  const { apex } = context.check;
  const [siblings, mistakes, beside, chain, https] = await Promise.all([
    askSiblings(context, zone, answered.slice(0, 1)),
    wrong ? askMistakes(context, zone, one) : { doubled: null, wrongHosts: [] },
    wrong && !apex ? askBeside(context, zone, answered) : null,
    wrong ? chainOf(context, answered, names) : null,
    apex && one !== undefined ? askHttps(context, zone, one) : null,
  ]);
  const caa = await climbing;
  const views = await withSoa(context, zone, seen, { siblings, caa, pointing });
  const [first, ...rest] = views.map((view) =>
    view.server === beside?.server ? { ...view, mx: beside.mx, txt: beside.txt } : view,
  );
  return {
    servers: [first ?? seen[0].view, ...rest],
    nearby: {
      ...mistakes,
      sibling: siblingOf(siblings),
      chain,
      ...(wrong ? dnameOf(answered, context.check.hostname) : {}),
      ...(https === null ? {} : { https }),
    },
  };
}

type SoaSources = {
  readonly siblings: Siblings | null;
  readonly caa: readonly CaaLevel[];
  readonly pointing: 'right' | 'wrong' | 'unknown';
};

/**
 * From an earlier reply, also one about CAA, or a new query; in the same order. A right record with a
 * CAA set needs no query for further servers' serial numbers.
 */
function withSoa(
  context: ObservationContext,
  zone: Zone,
  seen: readonly ServerSeen[],
  { siblings, caa, pointing }: SoaSources,
): Promise<readonly ServerView[]> {
  const { hostname, apex } = context.check;
  // Each server was queried for CAA there, so the reply is cached.
  const level = caa.find(({ name }) => (apex || name !== hostname) && isWithin(name, zone.name));
  const isEnough = pointing === 'right' && siblings !== null && level !== undefined;
  const soaFrom = async (server: NameServer, name: string, type: 'CAA' | 'SOA') => {
    const { reply } = await context.askServer(zone, server, { name, type });
    return reply.kind === 'message' ? soaIn(reply.message, zone.name) : null;
  };
  return Promise.all(
    seen.map(async ({ view, server }) => {
      if (view.state !== 'answers' || view.soa !== null) return view;
      const beside = siblings?.replies.get(server.name);
      const known = beside?.kind === 'message' ? soaIn(beside.message, siblings?.name ?? '') : null;
      const soa = known ?? (level ? await soaFrom(server, level.name, 'CAA') : null);
      if (soa !== null || isEnough) return { ...view, soa };
      return { ...view, soa: await soaFrom(server, zone.name, 'SOA') };
    }),
  );
}

// HTTPS records (RFC 9460) of an apex, and where they lead.

/** Further target names stay unknown. */
const TARGETS_MAX = 2;

/** Records of the name itself. Foreign target names are resolved, because they can lead here, too. */
async function askHttps(
  context: ObservationContext,
  zone: Zone,
  { server }: ServerSeen,
): Promise<DnsAnswer<HttpsRecord>> {
  const { hostname: name } = context.check;
  const { reply } = await context.askServer(zone, server, { name, type: 'HTTPS' });
  const direct = withoutReferral(reply);
  if (direct.kind !== 'message') return failureOf(direct);
  const answer = answerAt(
    direct.message,
    name,
    'HTTPS',
    ({ priority, target, port, hints, ech }): HttpsRecord => ({
      priority,
      target,
      port,
      hints,
      ech,
    }),
  );
  return answer.kind === 'records' ? resolved(context, answer) : answer;
}

async function resolved(
  context: ObservationContext,
  answer: DnsAnswer<HttpsRecord> & { readonly kind: 'records' },
): Promise<DnsAnswer<HttpsRecord>> {
  const { hostname, target } = context.check;
  const names = [...new Set(answer.records.map((record) => record.target))]
    .filter((name) => !['.', hostname, target].includes(name))
    .slice(0, TARGETS_MAX);
  const known = new Map(
    await Promise.all(
      names.map(async (name) => [name, await addressesBehind(context, name)] as const),
    ),
  );
  const withAddresses = (record: HttpsRecord): HttpsRecord => {
    const addresses = known.get(record.target) ?? [];
    return addresses.length === 0 ? record : { ...record, addresses };
  };
  const [first, ...rest] = answer.records;
  return { ...answer, records: [withAddresses(first), ...rest.map(withAddresses)] };
}

// Servers that answer simple queries only; resolvers, also those of CAs, use EDNS and mixed case.

/**
 * One query, only if a server does not even know its own zone: it returned no NS set, or none answered.
 */
async function askPlainly(
  context: ObservationContext,
  zone: Zone,
  seen: readonly ServerSeen[],
  atZone: OwnServers,
): Promise<Pick<Observation, 'plainAnswer'>> {
  const one = seen.find(isStrange);
  if (one === undefined || atZone !== null || zone.delegation === null) return {};
  const { hostname: name } = context.check;
  const { reply } = await context.askServer(zone, one.server, { name, type: 'A', plain: true });
  const found = (['CNAME', 'A'] as const).map((type) => answerOf(reply, name, type));
  return found.some(({ kind }) => kind === 'records') ? { plainAnswer: true } : {};
}

function isStrange({ view: { state, rcode, cname, a } }: ServerSeen): boolean {
  if (state !== 'answers') return rcode !== null;
  return isConclusive(cname) && cname.kind !== 'records' && a.kind !== 'records';
}
