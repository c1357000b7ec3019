/**
 * The CAA climb of a check: as if the record were in place, and compared between the servers of each
 * zone, because a CA can query any of them.
 */
import {
  type CaaLevel,
  isConclusive,
  recordsOf,
  type ServerCaa,
} from '../../core/diagnosis/observation.ts';
import type { NameReply } from '../servers/aliases.ts';
import { answeringFirst } from '../servers/query-order.ts';
import type { NameServer } from '../servers/reply.ts';
import { recordsAt } from '../servers/select.ts';
import { registrableDomain, type Zone } from '../servers/zone.ts';
import { isSpent } from '../wire/budget.ts';
import type { Message } from '../wire/message.ts';
import { isWithin, parentOf } from '../wire/name.ts';
import {
  askRecursively,
  askZone,
  climb,
  isEnd,
  type Level,
  levelAsker,
  lookupSet,
  readSet,
  shownAt,
} from './caa.ts';
import type { ObservationContext } from './context.ts';
import { isSame } from './server-view.ts';

/** The host name's zone, and its servers that just answered; null: only resolvers are queried. */
type Answering = { readonly zone: Zone; readonly servers: ReadonlySet<string> } | null;

/**
 * A subdomain's own level is the target's CAA set, except behind a proxy, which shows no alias. Continues
 * upward if one server has no set at a level where another one has.
 */
export async function climbAsIfPointed(
  context: ObservationContext,
  answering: Answering,
  isProxied = false,
): Promise<readonly CaaLevel[]> {
  const { hostname, apex } = context.check;
  if (apex || isProxied) return climbCompared(context, hostname, answering);
  const { level, confirmed } = await targetLevel(context, answering === null);
  if (isEnd(level)) return [shownAt(hostname, level)];
  const above = await climbCompared(context, parentOf(hostname) ?? '.', answering);
  // A resolver that denies the target's CAA set must not let a higher level forbid issuance.
  const decides = above.some(hasSet);
  const own = decides && !confirmed ? await targetSet(context, 'zone') : level;
  return [shownAt(hostname, own), ...(isEnd(own) ? [] : above)];
}

/** At the zone's own servers; at each of them if they differed. `zone`: the host name's. */
export async function levelAgain(
  context: ObservationContext,
  { name, answer, servers }: CaaLevel,
  zone: Zone,
): Promise<CaaLevel> {
  const { hostname, apex } = context.check;
  if (name === hostname && !apex) {
    return shownAt(name, (await targetLevel(context, false)).level);
  }
  if (servers !== undefined) {
    const names = new Set(servers.map(({ server }) => server));
    const again = await differingAt(context, name, { zone, servers: names });
    return { name, answer, ...(again.length > 0 && { servers: again }) };
  }
  const ask = levelAsker(context, hostname, false);
  return shownAt(name, await lookupSet(name, ask));
}

/** At any server. */
function hasSet({ answer, servers = [] }: CaaLevel): boolean {
  return [answer, ...servers.map((one) => one.answer)].some((one) => recordsOf(one).length > 0);
}

async function climbCompared(
  context: ObservationContext,
  from: string,
  answering: Answering,
): Promise<readonly CaaLevel[]> {
  const { parts, budget, check, askServer } = context;
  const asking = { parts, budget, askServer, ...(answering && { answering: answering.servers }) };
  const ask = levelAsker(asking, check.hostname, answering === null);
  const found = await climb(from, (name) => lookupSet(name, ask));
  if (answering === null) return found;
  const levels = await Promise.all(
    found.map(async (level) => {
      const servers = await differingAt(context, level.name, answering);
      return servers.length > 0 ? { ...level, servers } : level;
    }),
  );
  const last = levels.at(-1);
  const above = last && parentOf(last.name);
  const goesOn = last?.servers?.some(({ answer }) => !isEnd({ answer })) === true;
  if (!goesOn || above === undefined || recordsOf(last?.answer ?? null).length === 0) return levels;
  return [...levels, ...(await climbCompared(context, above, answering))];
}

/**
 * Queries all servers of a level's zone; the climb already queried the first. The conclusive answers, or
 * empty if these are the same. Names of registries are not compared.
 */
async function differingAt(
  context: ObservationContext,
  level: string,
  { zone: own, servers: answering }: NonNullable<Answering>,
): Promise<readonly ServerCaa[]> {
  const { parts, check, budget } = context;
  const known = parts.authorities.knownZone(level);
  const isCustomers = isWithin(level, registrableDomain(check.hostname));
  if (known === undefined || !isCustomers || isSpent(budget)) return [];
  const zone = own.name === known.name ? own : known;
  const all = await replies(context, zone, level, answering);
  const [first, ...others] = all;
  if (first === undefined || others.every((other) => isSameReply(first, other, level))) return [];
  const said = await Promise.all(
    all.map(async ({ server, message }) => ({
      server: server.name,
      ...saidOf(level, await setFrom(context, level, message)),
    })),
  );
  const able = said.filter(({ answer }) => isConclusive(answer));
  return able.length > 1 ? able.toSorted((a, b) => (a.server < b.server ? -1 : 1)) : [];
}

type ServerReply = { readonly server: NameServer; readonly message: Message };

/** In the order of the climb. */
async function replies(
  { askServer, parts }: ObservationContext,
  zone: Zone,
  name: string,
  answering: ReadonlySet<string>,
): Promise<readonly ServerReply[]> {
  const order = answeringFirst(zone.servers, answering, parts.now().getTime());
  const known = order.filter((server) => answering.has(server.name));
  const all = await Promise.all(
    (known.length > 0 ? known : order).map(async (server) => {
      const { reply } = await askServer(zone, server, { name, type: 'CAA' });
      return reply.kind === 'message' ? [{ server, message: reply.message }] : [];
    }),
  );
  return all.flat();
}

/** The same alias or set. NODATA and NXDOMAIN are the same. */
function isSameReply({ message: one }: ServerReply, { message: other }: ServerReply, name: string) {
  const aliasIn = ({ answers }: Message) => recordsAt(answers, name, 'CNAME')[0]?.target;
  if (aliasIn(one) !== undefined || aliasIn(other) !== undefined) {
    return aliasIn(one) === aliasIn(other);
  }
  const [mine, theirs] = [readSet(one, name), readSet(other, name)];
  return (!isEnd({ answer: mine }) && !isEnd({ answer: theirs })) || isSame(mine, theirs);
}

function setFrom({ parts, budget }: ObservationContext, level: string, message: Message) {
  const first: NameReply = { kind: 'message', message, whole: false };
  return lookupSet(level, async (name) =>
    name === level ? first : askZone({ parts, budget }, name, 'CAA'),
  );
}

function saidOf(name: string, { at, ...level }: Level): Omit<ServerCaa, 'server'> {
  return at === name ? level : { publishedAt: at, ...level };
}

/**
 * A resolver can say that the platform's own name has no CAA set. Any other answer is confirmed at
 * the zone, as is every answer if the zone is already known.
 */
async function targetLevel(context: ObservationContext, recursively: boolean) {
  const { parts, check } = context;
  if (recursively) return { level: await targetSet(context, 'resolver'), confirmed: true };
  if (parts.authorities.knownZone(check.target) === undefined) {
    const level = await targetSet(context, 'resolver');
    if (!isEnd(level)) return { level, confirmed: false };
  }
  return { level: await targetSet(context, 'zone'), confirmed: true };
}

function targetSet(
  { parts, budget, check }: ObservationContext,
  by: 'zone' | 'resolver',
): Promise<Level> {
  const ask = by === 'zone' ? askZone : askRecursively;
  return lookupSet(check.target, (name) => ask({ parts, budget }, name, 'CAA'));
}
