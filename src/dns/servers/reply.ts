/** What a server's response amounts to: a message that can be believed, a referral, or a reason why there is none. */
import type { Answer, ServerState } from '../../core/diagnosis/observation.ts';
import type { WireAnswer } from '../wire/exchange.ts';
import { type Message, rcodes } from '../wire/message.ts';
import { isWithin } from '../wire/name.ts';
import { addressesOf, hasTooManyServers, recordsAt, shortestTtl } from './select.ts';

/** "Could not tell"; it never means "there is none". */
export type Failure = Extract<Answer<never>, { kind: 'servfail' | 'refused' | 'timeout' }>;

/** A message with RCODE NOERROR or NXDOMAIN from a server that may say so. */
export type ReplyMessage = {
  readonly kind: 'message';
  readonly message: Message;
  readonly rttMs: number;
};

/** Why a server gave no usable reply, and as much of its answer as there was: null where none came. */
export type NoReply = {
  readonly kind: Failure['kind'];
  readonly state: Exclude<ServerState, 'answers'>;
  readonly aa: boolean | null;
  readonly rcode: number | null;
  readonly rttMs: number | null;
};

/** A message that can be believed, or why there is none. */
export type Reply = ReplyMessage | NoReply;

/** A name server as it was delegated to; `glue` are the addresses that came along and may be believed. */
export type NameServer = { readonly name: string; readonly glue: readonly string[] };

/** "Ask the servers of this zone instead" (RFC 1034, 4.3.1). */
export type Referral = {
  readonly kind: 'referral';
  readonly zone: string;
  readonly servers: readonly NameServer[];
  readonly ttlSeconds: number;
};

/** The failure that each state amounts to. A lame server refuses, in whatever words; our own limits are a timeout. */
const failureKinds: { readonly [S in NoReply['state']]: Failure['kind'] } = {
  refused: 'refused',
  not_authoritative: 'refused',
  servfail: 'servfail',
  malformed: 'servfail',
  timeout: 'timeout',
  no_address: 'servfail',
  alias_name: 'servfail',
  reserved_address: 'servfail',
  not_asked: 'timeout',
};

const nothingSeen = { aa: null, rcode: null, rttMs: null } as const;

/** Returns what stands for a server without a usable reply, with the failure that its state amounts to. */
export function untold(
  state: NoReply['state'],
  seen: Pick<NoReply, 'aa' | 'rcode' | 'rttMs'> = nothingSeen,
): NoReply {
  return { kind: failureKinds[state], state, aa: seen.aa, rcode: seen.rcode, rttMs: seen.rttMs };
}

/** Returns the failure alone, as observations keep it: a timeout says whether it is our own limits' doing. */
export function failureOf({
  kind,
  state,
  ours,
}: {
  readonly kind: Failure['kind'];
  readonly state?: NoReply['state'];
  readonly ours?: true;
}): Failure {
  const cutOff = state === 'not_asked' || ours === true;
  return kind === 'timeout' && cutOff ? { kind, ours: true } : { kind };
}

/** What a server without a response is: where our own limits ended the wait, nothing is known of it. */
function stateWithout(answer: Exclude<WireAnswer, { kind: 'response' }>): NoReply['state'] {
  return answer.kind === 'timeout' && answer.cutOff ? 'not_asked' : answer.kind;
}

/**
 * Classifies the answer of a recursive server. One that does not offer recursion answers from what it happens to have:
 * refused.
 */
export function classifyRecursive(answer: WireAnswer): Reply {
  if (answer.kind !== 'response') return untold(stateWithout(answer));
  const { message, rttMs } = answer;
  const state = stateByRcode(message);
  if (state !== undefined) return untold(state, seenIn(message, rttMs));
  if (!message.recursionAvailable) return untold('refused', seenIn(message, rttMs));
  return { kind: 'message', message, rttMs };
}

/**
 * Classifies the answer of a server of `zone` about `name`. Without the AA flag it is a referral downwards, or the
 * server is lame.
 */
export function classifyAuthoritative(
  answer: WireAnswer,
  zone: string,
  name: string,
): Reply | Referral {
  if (answer.kind !== 'response') return untold(stateWithout(answer));
  const { message, rttMs } = answer;
  // An RCODE is about the end of a chain of aliases (RFC 6604, 3); the alias at the name itself counts. BIND says
  // SERVFAIL of a circle.
  const isAlias = message.authoritative && recordsAt(message.answers, name, 'CNAME').length > 0;
  const state = isAlias ? undefined : stateByRcode(message);
  if (state !== undefined) return untold(state, seenIn(message, rttMs));
  if (message.authoritative) return { kind: 'message', message, rttMs };
  if (hasTooManyServers(message.authority)) return untold('servfail', seenIn(message, rttMs));
  return referralIn(message, zone, name) ?? untold('not_authoritative', seenIn(message, rttMs));
}

function seenIn({ authoritative, rcode }: Message, rttMs: number) {
  return { aa: authoritative, rcode, rttMs };
}

/**
 * FORMERR, NOTIMP and whatever is new count as servfail: the server works, but not for this question. So does an NS set
 * that no zone has: a hostile one would have us remember it.
 */
function stateByRcode({ rcode, answers }: Message): 'refused' | 'servfail' | undefined {
  switch (rcode) {
    case rcodes.NOERROR:
    case rcodes.NXDOMAIN:
      return hasTooManyServers(answers) ? 'servfail' : undefined;
    case rcodes.REFUSED:
    case rcodes.NOTAUTH:
      return 'refused';
    default:
      return 'servfail';
  }
}

/** Only downwards: a referral to the zone itself, above it or beside the name leads nowhere. */
function referralIn(message: Message, zone: string, name: string): Referral | undefined {
  if (message.rcode !== rcodes.NOERROR || message.answers.length > 0) return undefined;
  const cut = message.authority.find((record) => record.type === 'NS')?.name;
  if (cut === undefined || cut === zone || !isWithin(cut, zone) || !isWithin(name, cut)) {
    return undefined;
  }
  return referralTo(cut, message.authority, message, zone);
}

/**
 * Returns the NS records of `cut` among `records` as a referral, with the addresses that a server of `zone` may speak
 * for. Without such records it has no servers and a TTL of 0.
 */
export function referralTo(
  cut: string,
  records: Message['authority'],
  { additional }: Message,
  zone: string,
): Referral {
  const found = recordsAt(records, cut, 'NS');
  const servers = found.map(({ target }) => ({
    name: target,
    // A server speaks for addresses in its own zone only; others are looked up.
    glue: isWithin(target, zone) ? addressesOf(additional, target) : [],
  }));
  return { kind: 'referral', zone: cut, servers, ttlSeconds: shortestTtl(found) };
}
