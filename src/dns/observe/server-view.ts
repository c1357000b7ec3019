/** What one server shows at a host name, with as few questions as that takes. */
import {
  type Answer,
  type CaaRecord,
  recordsOf,
  type ServerView,
} from '../../core/diagnosis/observation.ts';
import {
  type Failure,
  failureOf,
  type NameServer,
  type NoReply,
  type Referral,
  type Reply,
  type ReplyMessage,
} from '../servers/reply.ts';
import { soaIn, type TextType, textsAt } from '../servers/select.ts';
import type { Zone } from '../servers/zone.ts';
import type { Message } from '../wire/message.ts';
import type { ObservationContext } from './context.ts';

/** The addresses and the alias at a name; of a server that could not tell, the reason in each of the three. */
export type NameView = Pick<ServerView, 'cname' | 'a' | 'aaaa'>;

/** One server's view and the reply to the question for A that it began with; `message` is null where there was none. */
export type Seen = {
  readonly server: NameServer;
  readonly view: ServerView;
  readonly message: Message | null;
};

/**
 * Asks one server of the zone about the host name, by one or two questions. A referral is returned for the caller to
 * follow.
 */
export async function viewOfServer(
  context: ObservationContext,
  zone: Zone,
  server: NameServer,
): Promise<Seen | Referral> {
  const { hostname } = context.check;
  const ask = (type: 'A' | 'AAAA') => context.askServer(zone, server, { name: hostname, type });
  const { address, reply } = await ask('A');
  if (reply.kind === 'referral') return reply;
  if (reply.kind !== 'message') return silent(server, address, reply);
  const where = { server: server.name, address };
  const { view, second } = await viewFrom(hostname, reply.message, async () =>
    withoutReferral((await ask('AAAA')).reply),
  );
  const soa = soaIn(reply.message, hostname) ?? (second && soaIn(second, hostname));
  return {
    server,
    message: reply.message,
    view: { ...where, ...answering(reply), ...view, mx: null, txt: null, soa: soa ?? null },
  };
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
