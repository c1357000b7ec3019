/** What one server shows at a host name, with as few questions as that takes. */
import {
  type Answer,
  type CaaRecord,
  recordsOf,
  type ServerView,
} from '../../core/diagnosis/observation.ts';
import type { Contact } from '../servers/authority.ts';
import {
  type Failure,
  failureOf,
  type NameServer,
  type NoReply,
  type Referral,
  type Reply,
  type ReplyMessage,
} from '../servers/reply.ts';
import { soaIn, type TextType, textsAt, zoneBySoa } from '../servers/select.ts';
import type { Zone } from '../servers/zone.ts';
import type { Message } from '../wire/message.ts';
import type { RecordType } from '../wire/records.ts';
import type { ObservationContext } from './context.ts';

/** The addresses and the alias at a name; of a server that could not tell, the reason in each of the three. */
export type NameView = Pick<ServerView, 'cname' | 'a' | 'aaaa'>;

/** One server's view and the reply to the question for A that it began with; `message` is null where there was none. */
export type Seen = {
  readonly server: NameServer;
  readonly view: ServerView;
  readonly message: Message | null;
  /** The zone whose SOA record came with an answer about the host name; missing where none came. */
  readonly zone?: string;
};

/**
 * Asks one server of the zone about the host name, by one or two questions. A referral is returned for the caller to
 * follow. `mailFirst`: begins with MX, which shows an alias as well as A does, and the MX records that a few servers let
 * stand beside one; where it shows neither an alias nor that there is nothing at all, A is asked, too.
 */
export async function viewOfServer(
  context: ObservationContext,
  zone: Zone,
  server: NameServer,
  mailFirst = false,
): Promise<Seen | Referral> {
  const { hostname } = context.check;
  const ask = (type: RecordType) => context.askServer(zone, server, { name: hostname, type });
  const { address, reply, mx } = await firstContact(hostname, ask, mailFirst);
  if (reply.kind === 'referral') return reply;
  if (reply.kind !== 'message') {
    const alias = await aliasAlone(context, zone, server, reply);
    return alias ?? silent(server, address, reply);
  }
  const where = { server: server.name, address };
  const { view, second } = await viewFrom(hostname, reply.message, async () =>
    withoutReferral((await ask('AAAA')).reply),
  );
  const soa = soaIn(reply.message, hostname) ?? (second && soaIn(second, hostname));
  const found = zoneBySoa(reply.message, hostname) ?? (second && zoneBySoa(second, hostname));
  return {
    server,
    message: reply.message,
    ...(found && { zone: found }),
    view: { ...where, ...answering(reply), ...view, mx, txt: null, soa: soa ?? null },
  };
}

/**
 * Some servers fail for A where an alias leads back to itself, and show it to whoever asks for the alias alone. Null where
 * there is none, or where it is the target: then it is the failure that resolvers meet.
 */
async function aliasAlone(
  context: ObservationContext,
  zone: Zone,
  server: NameServer,
  { state, aa, rcode }: NoReply,
): Promise<Seen | null> {
  if (state !== 'servfail') return null;
  const { hostname, target } = context.check;
  const question = { name: hostname, type: 'CNAME' } as const;
  const { address, reply } = await context.askServer(zone, server, question);
  if (reply.kind !== 'message') return null;
  const cname = textsAt(reply.message, hostname, 'CNAME');
  if (cname.kind !== 'records' || cname.records.includes(target)) return null;
  const nothing = { kind: 'nodata' } as const;
  const view = { ...answering(reply), aa, rcode, cname, a: nothing, aaaa: nothing, ...nothingMore };
  return { server, message: reply.message, view: { server: server.name, address, ...view } };
}

/** The contact that the view is made of, and the MX records where those were asked for first. */
async function firstContact(
  hostname: string,
  ask: (type: RecordType) => Promise<Contact>,
  mailFirst: boolean,
) {
  const mail = mailFirst ? await ask('MX') : null;
  const contact = mail !== null && saysItAll(mail.reply, hostname) ? mail : await ask('A');
  return { ...contact, mx: mailBeside(mail?.reply, hostname) };
}

/** Whether asking the same server for A would show nothing more, or nothing at all. */
function saysItAll(reply: Reply | Referral, hostname: string): boolean {
  if (reply.kind === 'referral') return true;
  if (reply.kind !== 'message') return reply.rcode === null;
  return ['records', 'nxdomain'].includes(textsAt(reply.message, hostname, 'CNAME').kind);
}

/** The MX records of a reply; null where it has none, which is what an alias means anyway. */
function mailBeside(reply: Reply | Referral | undefined, hostname: string): Answer<string> | null {
  if (reply?.kind !== 'message') return null;
  const mx = textsAt(reply.message, hostname, 'MX');
  return mx.kind === 'records' ? mx : null;
}

/** The view of a server that said nothing usable about the host name; `address` is null where there is nowhere to ask it. */
export function silent(server: NameServer, address: string | null, reply: NoReply): Seen {
  return { server, message: null, view: untoldView(server.name, address, reply) };
}

/** Returns a view in which every answer is the failure that `reply` amounts to. */
export function untoldView(server: string, address: string | null, reply: NoReply): ServerView {
  const { state, aa, rcode, rttMs } = reply;
  const failure = failureOf(reply);
  return { server, address, state, aa, rcode, ...allOf(failure), ...nothingMore, rttMs };
}

/** The fields of a view that are the same for every server that answered. */
export function answering({ message, rttMs }: ReplyMessage) {
  const { authoritative: aa, rcode } = message;
  return { state: 'answers', aa, rcode, rttMs } as const;
}

/** The fields of a view that are not asked for, as null. */
export const nothingMore = { mx: null, txt: null, soa: null } as const;

/** Gives CNAME, A and AAAA the same answer. */
export function allOf(answer: Failure | { readonly kind: 'nxdomain' }): NameView {
  return { cname: answer, a: answer, aaaa: answer };
}

/**
 * Reads the answer to the A question; asks for more only where it leaves something open.
 * - NXDOMAIN: nothing of any type exists (RFC 8020, 2). One question.
 * - An alias: there is nothing beside it (RFC 1034, 3.6.2). One question.
 * - Else the AAAA question is asked, too; that the A answer held no CNAME says that there is none.
 */
export async function viewFrom(
  hostname: string,
  message: Message,
  askAaaa: () => Promise<Reply>,
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
  // Where a forbidden neighbour hid the alias from the A question, it shows here.
  const alias = textsAt(second, hostname, 'CNAME');
  return { view: { cname: alias.kind === 'records' ? alias : cname, a, aaaa }, second };
}

/**
 * Turns a referral into a refusal: a server that has just answered for the name and now points elsewhere contradicts
 * itself.
 */
export function withoutReferral(reply: Reply | Referral): Reply {
  if (reply.kind !== 'referral') return reply;
  return { kind: 'refused', state: 'not_authoritative', aa: false, rcode: 0, rttMs: null };
}

/**
 * Returns what a reply says about a name's own records of one type. Aliases are not followed; a referral counts as
 * refused.
 */
export function answerOf(reply: Reply | Referral, name: string, type: TextType): Answer<string> {
  const direct = withoutReferral(reply);
  return direct.kind === 'message' ? textsAt(direct.message, name, type) : failureOf(direct);
}

/** Whether two lists have the same names in the same order. */
export function sameNames(one: readonly string[], other: readonly string[]): boolean {
  return one.join(' ') === other.join(' ');
}

/**
 * Whether two answers say the same, whatever their TTL and the order of the records. Fields are compared by value
 * because a database stores JSON keys in an order of its own.
 */
export function isSame<R extends string | CaaRecord>(one: Answer<R>, other: Answer<R>): boolean {
  const textOf = (answer: Answer<R>) =>
    [answer.kind, ...recordsOf(answer).map(recordText).sort()].join('\n');
  return textOf(one) === textOf(other);
}

function recordText(record: string | CaaRecord): string {
  return typeof record === 'string' ? record : `${record.flags} ${record.tag} ${record.value}`;
}
