/** One server's answers about a host name, with as few queries as possible. */
import {
  type CaaRecord,
  type DnsAnswer,
  recordsOf,
  type ServerView,
} from '../../core/diagnosis/observation.ts';
import type { Contact } from '../servers/authority.ts';
import {
  type DnsReply,
  type Failure,
  failureOf,
  type NameServer,
  type NoReply,
  type Referral,
  type ReplyMessage,
} from '../servers/reply.ts';
import { soaIn, soaOwner, type TextType, textsAt } from '../servers/select.ts';
import type { Zone } from '../servers/zone.ts';
import type { Message } from '../wire/message.ts';
import type { ObservationContext } from './context.ts';

/** Without a usable answer, all three have the reason. */
export type NameView = Pick<ServerView, 'cname' | 'a' | 'aaaa'>;

/** `message`: the reply to the A query. `soaOwner`: the zone according to a negative answer. */
export type ServerSeen = {
  readonly server: NameServer;
  readonly view: ServerView;
  readonly message: Message | null;
  readonly soaOwner: string | null;
};

/**
 * Sends one to three queries. The caller follows referrals. `mailFirst`: begins with MX, which shows an alias
 * as well as A does, and the MX records that a few servers keep beside one.
 */
export async function viewOfServer(
  context: ObservationContext,
  zone: Zone,
  server: NameServer,
  mailFirst = false,
): Promise<ServerSeen | Referral> {
  const { hostname } = context.check;
  const ask = (type: 'A' | 'AAAA' | 'MX') =>
    context.askServer(zone, server, { name: hostname, type });
  const { address, reply, mx } = await firstContact(hostname, ask, mailFirst);
  if (reply.kind === 'referral') return reply;
  if (reply.kind !== 'message') {
    return (await aliasAlone(context, zone, server, reply)) ?? silent(server, address, reply);
  }
  const where = { server: server.name, address };
  const { view, second } = await viewFrom(hostname, reply.message, async () =>
    withoutReferral((await ask('AAAA')).reply),
  );
  const soa = soaIn(reply.message, hostname) ?? (second && soaIn(second, hostname));
  return {
    server,
    message: reply.message,
    soaOwner: soaOwner(reply.message, hostname) ?? (second && soaOwner(second, hostname)),
    view: { ...where, ...answering(reply), ...view, mx, txt: null, soa: soa ?? null },
  };
}

/** A, too, unless MX showed an alias, a referral or silence. */
async function firstContact(
  hostname: string,
  ask: (type: 'A' | 'MX') => Promise<Contact>,
  mailFirst: boolean,
) {
  const mail = mailFirst ? await ask('MX') : null;
  const contact = mail !== null && isEnough(mail.reply, hostname) ? mail : await ask('A');
  return { ...contact, mx: mailIn(mail, hostname) };
}

function isEnough(reply: Contact['reply'], hostname: string): boolean {
  if (reply.kind === 'referral') return true;
  if (reply.kind !== 'message') return reply.rcode === null;
  return textsAt(reply.message, hostname, 'CNAME').kind === 'records';
}

function mailIn(mail: Contact | null, hostname: string): DnsAnswer<string> | null {
  if (mail?.reply.kind !== 'message') return null;
  const mx = textsAt(mail.reply.message, hostname, 'MX');
  return mx.kind === 'records' ? mx : null;
}

/**
 * Some servers return SERVFAIL for A if the alias leads back to itself, but answer for CNAME. Null
 * without an alias, or for the target: then resolvers fail, too.
 */
async function aliasAlone(
  context: ObservationContext,
  zone: Zone,
  server: NameServer,
  { state, aa, rcode }: NoReply,
): Promise<ServerSeen | null> {
  if (state !== 'servfail') return null;
  const { hostname, target } = context.check;
  const question = { name: hostname, type: 'CNAME' } as const;
  const { address, reply } = await context.askServer(zone, server, question);
  if (reply.kind !== 'message') return null;
  const cname = textsAt(reply.message, hostname, 'CNAME');
  if (cname.kind !== 'records' || cname.records.includes(target)) return null;
  const nodata = { kind: 'nodata' } as const;
  const view = { ...answering(reply), aa, rcode, cname, a: nodata, aaaa: nodata, ...nothingMore };
  return {
    server,
    message: reply.message,
    soaOwner: null,
    view: { server: server.name, address, ...view },
  };
}

export function silent(server: NameServer, address: string | null, reply: NoReply): ServerSeen {
  return { server, message: null, soaOwner: null, view: noReplyView(server.name, address, reply) };
}

export function noReplyView(server: string, address: string | null, reply: NoReply): ServerView {
  const { state, aa, rcode, rttMs } = reply;
  const failure = failureOf(reply);
  return { server, address, state, aa, rcode, ...allOf(failure), ...nothingMore, rttMs };
}

export function answering({ message, rttMs }: ReplyMessage) {
  const { authoritative: aa, rcode } = message;
  return { state: 'answers', aa, rcode, rttMs } as const;
}

export const nothingMore = { mx: null, txt: null, soa: null } as const;

export function allOf(answer: Failure | { readonly kind: 'nxdomain' }): NameView {
  return { cname: answer, a: answer, aaaa: answer };
}

/**
 * Sends more queries only if needed: NXDOMAIN means that no record of any type exists (RFC 8020,
 * 2), and a CNAME excludes other records (RFC 1034, 3.6.2).
 */
export async function viewFrom(
  hostname: string,
  message: Message,
  askAaaa: () => Promise<DnsReply>,
): Promise<{ readonly view: NameView; readonly second: Message | null }> {
  const cname = textsAt(message, hostname, 'CNAME');
  const a = textsAt(message, hostname, 'A');
  if (cname.kind === 'nxdomain') return { view: allOf(cname), second: null };
  if (cname.kind === 'records') {
    return { view: { cname, a, aaaa: { kind: 'nodata' } }, second: null };
  }
  const reply = await askAaaa();
  if (reply.kind !== 'message') {
    return { view: { cname, a, aaaa: failureOf(reply) }, second: null };
  }
  const second = reply.message;
  const aaaa = textsAt(second, hostname, 'AAAA');
  // If a forbidden neighbor hid the alias from the A answer, it is visible here.
  const alias = textsAt(second, hostname, 'CNAME');
  return { view: { cname: alias.kind === 'records' ? alias : cname, a, aaaa }, second };
}

/** A server that just answered for the name contradicts itself with a referral: refused. */
export function withoutReferral(reply: DnsReply | Referral): DnsReply {
  if (reply.kind !== 'referral') return reply;
  return { kind: 'refused', state: 'not_authoritative', aa: false, rcode: 0, rttMs: null };
}

/** Aliases are not followed; a referral counts as refused. */
export function answerOf(
  reply: DnsReply | Referral,
  name: string,
  type: TextType,
): DnsAnswer<string> {
  const direct = withoutReferral(reply);
  return direct.kind === 'message' ? textsAt(direct.message, name, type) : failureOf(direct);
}

/** Order matters. */
export function sameNames(one: readonly string[], other: readonly string[]): boolean {
  return one.join(' ') === other.join(' ');
}

/** Ignores TTL and record order. Compares fields by value, because databases reorder JSON keys. */
export function isSame<R extends string | CaaRecord>(
  one: DnsAnswer<R>,
  other: DnsAnswer<R>,
): boolean {
  const textOf = (answer: DnsAnswer<R>) =>
    [answer.kind, ...recordsOf(answer).map(recordText).sort()].join('\n');
  return textOf(one) === textOf(other);
}

function recordText(record: string | CaaRecord): string {
  return typeof record === 'string' ? record : `${record.flags} ${record.tag} ${record.value}`;
}
