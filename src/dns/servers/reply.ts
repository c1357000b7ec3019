import type { DnsAnswer, ServerState } from '../../core/diagnosis/observation.ts';
import type { WireAnswer } from '../wire/exchange.ts';
import { type Message, rcodes } from '../wire/message.ts';
import { isWithin } from '../wire/name.ts';
import { hasTooManyServers, recordsAt, serverAddresses, shortestTtl } from './select.ts';

/** It never means that a record does not exist. */
export type Failure = Extract<DnsAnswer<never>, { kind: 'servfail' | 'refused' | 'timeout' }>;

/** NOERROR or NXDOMAIN from a server that is allowed to give it. */
export type ReplyMessage = {
  readonly kind: 'message';
  readonly message: Message;
  readonly rttMs: number;
};

/** With the message if one arrived. */
export type NoReply = {
  readonly kind: Failure['kind'];
  readonly state: Exclude<ServerState, 'answers'>;
  readonly aa: boolean | null;
  readonly rcode: number | null;
  readonly rttMs: number | null;
};

export type DnsReply = ReplyMessage | NoReply;

/** `glue`: trusted addresses from the delegation. */
export type NameServer = { readonly name: string; readonly glue: readonly string[] };

/** RFC 1034, 4.3.1. */
export type Referral = {
  readonly kind: 'referral';
  readonly zone: string;
  readonly servers: readonly NameServer[];
  readonly ttlSeconds: number;
};

/** A lame server counts as refused, our own limits as a timeout. */
const failureKinds: { readonly [S in NoReply['state']]: Failure['kind'] } = {
  refused: 'refused',
  not_authoritative: 'refused',
  servfail: 'servfail',
  malformed: 'servfail',
  timeout: 'timeout',
  no_address: 'servfail',
  alias_name: 'servfail',
  lookup_failed: 'servfail',
  reserved_address: 'servfail',
  not_asked: 'timeout',
};

const nothingSeen = { aa: null, rcode: null, rttMs: null } as const;

export function noReply(
  state: NoReply['state'],
  seen: Pick<NoReply, 'aa' | 'rcode' | 'rttMs'> = nothingSeen,
): NoReply {
  return { kind: failureKinds[state], state, aa: seen.aa, rcode: seen.rcode, rttMs: seen.rttMs };
}

/** If our own limits ended the wait, nothing is known of the server. */
function stateWithout(answer: Exclude<WireAnswer, { kind: 'response' }>): NoReply['state'] {
  return answer.kind === 'timeout' && answer.cutOff ? 'not_asked' : answer.kind;
}

/** As observations store it. */
export function failureOf(failure: {
  readonly kind: Failure['kind'];
  readonly state?: NoReply['state'];
  readonly cutOff?: true;
}): Failure {
  const { kind, state, cutOff } = failure;
  const isOurs = state === 'not_asked' || cutOff === true;
  return kind === 'timeout' && isOurs ? { kind, cutOff: true } : { kind };
}

/** Without recursion, a resolver only answers from its own data: refused. */
export function classifyRecursive(answer: WireAnswer): DnsReply {
  if (answer.kind !== 'response') return noReply(stateWithout(answer));
  const { message, rttMs } = answer;
  const state = stateByRcode(message);
  if (state !== undefined) return noReply(state, seenIn(message, rttMs));
  if (!message.recursionAvailable) return noReply('refused', seenIn(message, rttMs));
  return { kind: 'message', message, rttMs };
}

/** Without the AA flag, it is a downward referral or the server is lame. */
export function classifyAuthoritative(
  answer: WireAnswer,
  zone: string,
  name: string,
): DnsReply | Referral {
  if (answer.kind !== 'response') return noReply(stateWithout(answer));
  const { message, rttMs } = answer;
  // An RCODE is about the end of an alias chain (RFC 6604, 3), but here the alias at the name
  // itself counts. BIND returns SERVFAIL for a loop.
  const isAlias = message.authoritative && recordsAt(message.answers, name, 'CNAME').length > 0;
  const state = isAlias ? undefined : stateByRcode(message);
  if (state !== undefined) return noReply(state, seenIn(message, rttMs));
  if (message.authoritative) return { kind: 'message', message, rttMs };
  if (hasTooManyServers(message.authority)) return noReply('servfail', seenIn(message, rttMs));
  return referralIn(message, zone, name) ?? noReply('not_authoritative', seenIn(message, rttMs));
}

function seenIn({ authoritative, rcode }: Message, rttMs: number) {
  return { aa: authoritative, rcode, rttMs };
}

/**
 * FORMERR, NOTIMP and unknown codes count as servfail: the server works, but not for this query. So
 * does an oversized NS set, because a hostile one would fill the cache.
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

/** Only downward: a referral to the zone itself, above it or elsewhere is invalid. */
function referralIn(message: Message, zone: string, name: string): Referral | undefined {
  if (message.rcode !== rcodes.NOERROR || message.answers.length > 0) return undefined;
  const cut = message.authority.find((record) => record.type === 'NS')?.name;
  if (cut === undefined || cut === zone || !isWithin(cut, zone) || !isWithin(name, cut)) {
    return undefined;
  }
  return referralTo(cut, message.authority, message, zone);
}

/** Keeps addresses that a server of `zone` can vouch for. No servers: a TTL of 0. */
export function referralTo(
  cut: string,
  records: Message['authority'],
  { additional }: Message,
  zone: string,
): Referral {
  const found = recordsAt(records, cut, 'NS');
  const servers = found.map(({ target }) => ({
    name: target,
    // A server can only vouch for addresses in its own zone; others are looked up.
    glue: isWithin(target, zone) ? serverAddresses(additional, target) : [],
  }));
  return { kind: 'referral', zone: cut, servers, ttlSeconds: shortestTtl(found) };
}
