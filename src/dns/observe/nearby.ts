/** What stands around a host name: whether a wildcard answers, and where a mistaken record may have ended up. */
import { randomBytes } from 'node:crypto';
import {
  type Answer,
  type HttpsRecord,
  type Nearby,
  type NearbyName,
  recordsOf,
  type ServerView,
} from '../../core/diagnosis/observation.ts';
import { splitAtZone } from '../../core/names/zone.ts';
import type { NameReply } from '../servers/aliases.ts';
import { failureOf, type NameServer, type Reply } from '../servers/reply.ts';
import { answerAt, recordsAt } from '../servers/select.ts';
import { registrableDomain, type Zone } from '../servers/zone.ts';
import type { Message } from '../wire/message.ts';
import { isWithin, parentOf } from '../wire/name.ts';
import type { RecordOf } from '../wire/records.ts';
import { askZone } from './caa.ts';
import type { ObservationContext } from './context.ts';
import { answerOf, type Seen, withoutReferral } from './server-view.ts';

/** The replies about a random name beside the host name, keyed by the name of the server that was asked. */
export type Siblings = { readonly name: string; readonly replies: ReadonlyMap<string, Reply> };

/** As long as a name can be, in characters: 255 octets on the wire. */
const NAME_MAX = 253;
/** In letters: long enough that nobody has the name, and that no two checks ask for the same one. */
const RANDOM_LABEL = 24;

/**
 * Asks each of `servers` for a random name beside the host name, to see whether a wildcard answers. Null for an apex,
 * also that of a zone of its own: what is beside it is another zone's. Null too where the name would be longer than 253
 * characters.
 */
export async function askSiblings(
  context: ObservationContext,
  zone: Zone,
  servers: readonly Seen[],
): Promise<Siblings | null> {
  const { hostname, apex } = context.check;
  const name = `${randomLabel()}.${parentOf(hostname) ?? ''}`;
  if (apex || servers.length === 0 || !isWithin(name, zone.name) || name.length > NAME_MAX) {
    return null;
  }
  const replies = await Promise.all(
    servers.map(async ({ server }) => {
      const { reply } = await context.askServer(zone, server, { name, type: 'A' });
      return [server.name, withoutReferral(reply)] as const;
    }),
  );
  return { name, replies: new Map(replies) };
}

/**
 * What the first server that could tell shows at the random name; the first failure where none could. Null: nobody was
 * asked.
 */
export function siblingOf(siblings: Siblings | null): Nearby['sibling'] {
  if (siblings === null) return null;
  const replies = [...siblings.replies.values()];
  const reply = replies.find(({ kind }) => kind === 'message') ?? replies[0];
  if (reply === undefined) return null;
  return {
    cname: answerOf(reply, siblings.name, 'CNAME'),
    a: answerOf(reply, siblings.name, 'A'),
  };
}

/**
 * Asks one server for a CNAME at the names where the record may stand by mistake, and, where one leads to the target,
 * for a random name beside it: a wildcard is no mistake. Nothing for the apex of a delegated zone. Names longer than 253
 * characters are left out.
 */
export async function askMistakes(
  context: ObservationContext,
  zone: Zone,
  { server }: Seen,
): Promise<Pick<Nearby, 'doubled' | 'wrongHosts'>> {
  const { hostname, zone: below } = context.check;
  if (below === hostname) return { doubled: null, wrongHosts: [] };
  // What a customer's form adds is the customer's domain, even where we had to ask the zone above it.
  const domain = registrableDomain(hostname);
  const added = isWithin(zone.name, domain) ? zone.name : domain;
  const aliasOf = async (name: string) => {
    const { reply } = await context.askServer(zone, server, { name, type: 'CNAME' });
    return answerOf(reply, name, 'CNAME');
  };
  const leadsHere = (cname: Answer<string>) => recordsOf(cname).includes(context.check.target);
  const ask = async (name: string): Promise<NearbyName> => {
    if (name === added && hostname === `www.${added}`) return askApex(context, zone, server);
    const cname = await aliasOf(name);
    const beside = `${randomLabel()}.${parentOf(name) ?? ''}`;
    if (!leadsHere(cname) || name === added || beside.length > NAME_MAX) return { name, cname };
    return { name, cname, wildcard: leadsHere(await aliasOf(beside)) };
  };
  // The name relative to the domain, typed into the form of the zone that is delegated below it.
  const tooDeep = below === undefined ? [] : [`${splitAtZone(hostname).label}.${below}`];
  const others = [`www.${hostname}`, added, ...tooDeep].filter(
    (name) => name !== hostname && name.length <= NAME_MAX,
  );
  const twice = `${hostname}.${added}`;
  const [doubled, ...wrongHosts] = await Promise.all([
    twice.length <= NAME_MAX ? ask(twice) : null,
    ...others.map(ask),
  ]);
  return { doubled: doubled ?? null, wrongHosts: wrongHosts.filter((one) => one !== null) };
}

/** The apex above a `www`, by the question for A, which shows an alias as well as its addresses. */
async function askApex(
  context: ObservationContext,
  zone: Zone,
  server: NameServer,
): Promise<NearbyName> {
  const name = parentOf(context.check.hostname) ?? '';
  const { reply } = await context.askServer(zone, server, { name, type: 'A' });
  return { name, cname: answerOf(reply, name, 'CNAME'), a: answerOf(reply, name, 'A') };
}

/** Asks one server for the HTTPS records of the host name (RFC 9460), where they may stand beside addresses. */
export async function askHttps(
  context: ObservationContext,
  zone: Zone,
  { server }: Seen,
): Promise<Answer<HttpsRecord>> {
  const { hostname: name } = context.check;
  const { reply } = await context.askServer(zone, server, { name, type: 'HTTPS' });
  const direct = withoutReferral(reply);
  if (direct.kind !== 'message') return failureOf(direct);
  return answerAt(direct.message, name, 'HTTPS', ({ priority, target, port, hints }) => ({
    priority,
    target,
    port,
    hints,
  }));
}

/** The DNAME record above the host name that came with a server's alias (RFC 6672, 3.1). */
export function dnameOf(servers: readonly Seen[], hostname: string): Pick<Nearby, 'dname'> {
  for (const { message } of servers) {
    const found = message?.answers.find(
      (record): record is RecordOf<'DNAME'> =>
        record.type === 'DNAME' && record.name !== hostname && isWithin(hostname, record.name),
    );
    if (found !== undefined) return { dname: { owner: found.name, target: found.target } };
  }
  return {};
}

/**
 * Asks for the MX and TXT records at a name without an alias, of the first server that says there is no alias. Null
 * where none says so.
 */
export async function askBeside(
  context: ObservationContext,
  zone: Zone,
  servers: readonly Seen[],
): Promise<({ readonly server: string } & Record<'mx' | 'txt', Answer<string>>) | null> {
  const { hostname } = context.check;
  const one = servers.find(({ view }) => view.cname.kind === 'nodata');
  if (one === undefined) return null;
  const [mx, txt] = await Promise.all(
    (['MX', 'TXT'] as const).map(async (type) => {
      const { reply } = await context.askServer(zone, one.server, { name: hostname, type });
      return answerOf(reply, hostname, type);
    }),
  );
  return mx && txt ? { server: one.server.name, mx, txt } : null;
}

/** Follows the first alias that is not the target; null where no server shows one. */
export async function chainOf(
  context: ObservationContext,
  servers: readonly Seen[],
  answering: ReadonlySet<string>,
): Promise<Chain | null> {
  const { parts, budget, check } = context;
  for (const { message, view } of servers) {
    const alias = message && aliasIn(view, check.target);
    if (!alias) continue;
    const asking = { parts, budget, answering };
    return followChain(context, alias, message, async (name) => {
      const reply = await askZone(asking, name, 'A');
      // As some do where the alias leads back to itself.
      return reply.kind === 'servfail' ? askZone(asking, name, 'CNAME') : reply;
    });
  }
  return null;
}

/** Returns the alias of a view that is not the target; undefined where there is none. */
export function aliasIn({ cname }: Pick<ServerView, 'cname'>, target: string): string | undefined {
  return cname.kind === 'records' ? cname.records.find((one) => one !== target) : undefined;
}

/** Lower-case letters, which every name server takes. */
function randomLabel(): string {
  return [...randomBytes(RANDOM_LABEL)]
    .map((byte) => String.fromCharCode(97 + (byte % 26)))
    .join('');
}

/** Stands for a check that asked nothing around the host name. */
export const nothingNearby: Nearby = {
  sibling: null,
  doubled: null,
  wrongHosts: [],
  chain: null,
};

/** An alias chain: at most 8 names, the first alias included, and how it ends. */
export type Chain = NonNullable<Nearby['chain']>;

/** Names kept of a chain, as `Nearby` has it. */
const NAMES_MAX = 8;

/**
 * Follows `alias`, first by the records of the message that it came with, then by asking whoever is responsible for each
 * name. A circle ends with the name that repeats, which may be the host name. It ends as `unknown` at a name that nobody
 * could tell about, and at the eighth name. Never rejects for what the network does.
 */
export async function followChain(
  { check }: ObservationContext,
  alias: string,
  first: Message,
  ask: (name: string) => Promise<NameReply>,
): Promise<Chain> {
  const names: string[] = [];
  let message = first;
  for (let at: string | undefined = alias; at !== undefined; at = aliasAt(message, at)) {
    const again = at === check.hostname || names.includes(at);
    names.push(at);
    const end = again ? 'loop' : endAt(at, names.length, check.target);
    if (end !== undefined) return { names, end };
    const word = hasWord(message, at) ? { kind: 'message' as const, message } : await ask(at);
    if (word.kind !== 'message') return { names, end: 'unknown' };
    message = word.message;
  }
  return { names, end: 'elsewhere' };
}

function endAt(name: string, length: number, target: string): 'target' | 'unknown' | undefined {
  if (name === target) return 'target';
  return length >= NAMES_MAX ? 'unknown' : undefined;
}

function aliasAt(message: Message, name: string): string | undefined {
  return recordsAt(message.answers, name, 'CNAME')[0]?.target;
}

function hasWord(message: Message, name: string): boolean {
  return message.answers.some((record) => record.name === name);
}
