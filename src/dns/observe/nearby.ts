/** Looks for a wildcard, and for records created at a wrong name. */

import { randomBytes } from 'node:crypto';
import {
  type DnsAnswer,
  type Nearby,
  type NearbyName,
  recordsOf,
  type ServerView,
} from '../../core/diagnosis/observation.ts';
import { NAME_OCTETS_MAX } from '../../core/names/hostname.ts';
import { splitAtZone } from '../../core/names/zone.ts';
import type { NameReply } from '../servers/aliases.ts';
import type { DnsReply, NameServer } from '../servers/reply.ts';
import { recordsAt } from '../servers/select.ts';
import { registrableDomain, type Zone } from '../servers/zone.ts';
import type { Message } from '../wire/message.ts';
import { isWithin, parentOf } from '../wire/name.ts';
import type { RecordOf } from '../wire/records.ts';
import { askZone } from './caa.ts';
import type { ObservationContext } from './context.ts';
import { answerOf, type ServerSeen, withoutReferral } from './server-view.ts';

/** By server name. */
export type Siblings = { readonly name: string; readonly replies: ReadonlyMap<string, DnsReply> };

/** Long enough to be unique and unused. */
const RANDOM_LABEL = 24;

/** Detects a wildcard. Null for an apex: its siblings belong to another zone. */
export async function askSiblings(
  context: ObservationContext,
  zone: Zone,
  servers: readonly ServerSeen[],
): Promise<Siblings | null> {
  const { hostname, apex } = context.check;
  const name = `${randomLabel()}.${parentOf(hostname) ?? ''}`;
  if (apex || servers.length === 0 || !isWithin(name, zone.name) || name.length > NAME_OCTETS_MAX) {
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

/** The first usable answer, or the first failure. */
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

/** None for the apex of a delegated zone. Too long names are skipped. A wildcard is not a mistake. */
export async function askMistakes(
  context: ObservationContext,
  zone: Zone,
  { server }: ServerSeen,
): Promise<Pick<Nearby, 'doubled' | 'wrongHosts'>> {
  const { hostname, zone: below } = context.check;
  if (below === hostname) return { doubled: null, wrongHosts: [] };
  // Provider forms append the customer's domain, even if its parent zone had to be queried.
  const domain = registrableDomain(hostname);
  const added = isWithin(zone.name, domain) ? zone.name : domain;
  const aliasOf = async (name: string) => {
    const { reply } = await context.askServer(zone, server, { name, type: 'CNAME' });
    return answerOf(reply, name, 'CNAME');
  };
  const isTarget = (cname: DnsAnswer<string>) => recordsOf(cname).includes(context.check.target);
  const ask = async (name: string): Promise<NearbyName> => {
    if (name === added && hostname === `www.${added}`) return askApex(context, zone, server);
    const cname = await aliasOf(name);
    const beside = `${randomLabel()}.${parentOf(name) ?? ''}`;
    if (!isTarget(cname) || name === added || beside.length > NAME_OCTETS_MAX) {
      return { name, cname };
    }
    return { name, cname, wildcard: isTarget(await aliasOf(beside)) };
  };
  // The name relative to the domain, entered in the form of a delegated child zone.
  const tooDeep = below === undefined ? [] : [`${splitAtZone(hostname).label}.${below}`];
  const others = [`www.${hostname}`, added, ...tooDeep].filter(
    (name) => name !== hostname && name.length <= NAME_OCTETS_MAX,
  );
  const twice = `${hostname}.${added}`;
  const [doubled, ...wrongHosts] = await Promise.all([
    twice.length <= NAME_OCTETS_MAX ? ask(twice) : null,
    ...others.map(ask),
  ]);
  return { doubled: doubled ?? null, wrongHosts: wrongHosts.filter((one) => one !== null) };
}

/** The domain of a `www` name: A shows an alias, too. */
async function askApex(
  context: ObservationContext,
  zone: Zone,
  server: NameServer,
): Promise<NearbyName> {
  const name = parentOf(context.check.hostname) ?? '';
  const { reply } = await context.askServer(zone, server, { name, type: 'A' });
  return { name, cname: answerOf(reply, name, 'CNAME'), a: answerOf(reply, name, 'A') };
}

/** It comes with a server's alias (RFC 6672, 3.1). */
export function dnameOf(servers: readonly ServerSeen[], hostname: string): Pick<Nearby, 'dname'> {
  for (const { message } of servers) {
    const found = message?.answers.find(
      (record): record is RecordOf<'DNAME'> =>
        record.type === 'DNAME' && record.name !== hostname && isWithin(hostname, record.name),
    );
    if (found !== undefined) return { dname: { owner: found.name, target: found.target } };
  }
  return {};
}

/** From the first server that reports no alias. */
export async function askBeside(
  context: ObservationContext,
  zone: Zone,
  servers: readonly ServerSeen[],
): Promise<({ readonly server: string } & Record<'mx' | 'txt', DnsAnswer<string>>) | null> {
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

/** Follows the first alias that is not the target. */
export async function chainOf(
  context: ObservationContext,
  servers: readonly ServerSeen[],
  answering: ReadonlySet<string>,
): Promise<Chain | null> {
  const { parts, budget, check } = context;
  for (const { message, view } of servers) {
    const alias = message && aliasIn(view, check.target);
    if (!alias) continue;
    const asking = { parts, budget, answering };
    return followChain(context, alias, message, async (name) => {
      const reply = await askZone(asking, name, 'A');
      // As some servers do if the alias leads back to itself.
      return reply.kind === 'servfail' ? askZone(asking, name, 'CNAME') : reply;
    });
  }
  return null;
}

export function aliasIn({ cname }: Pick<ServerView, 'cname'>, target: string): string | undefined {
  return cname.kind === 'records' ? cname.records.find((one) => one !== target) : undefined;
}

/** Lower case, which every name server accepts. */
function randomLabel(): string {
  return [...randomBytes(RANDOM_LABEL)]
    .map((byte) => String.fromCharCode(97 + (byte % 26)))
    .join('');
}

export const nothingNearby: Nearby = {
  sibling: null,
  doubled: null,
  wrongHosts: [],
  chain: null,
};

/** At most 8 names, including the first alias. */
export type Chain = NonNullable<Nearby['chain']>;

const NAMES_MAX = 8;

/**
 * Follows `alias` in the message that contained it, then by querying the servers of each name. A
 * loop ends with the repeated name. The chain ends as `unknown` without a usable answer, and at the
 * eighth name.
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
