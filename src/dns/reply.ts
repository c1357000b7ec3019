/** What a server's response amounts to: a message that can be believed, a referral, or one of the three failures. */
import type { Answer } from '../core/observation.ts';
import { addressesOf, recordsAt, shortestTtl } from './select.ts';
import type { WireAnswer } from './wire/exchange.ts';
import { type Message, rcodes } from './wire/message.ts';
import { isWithin } from './wire/name.ts';

/** "Could not tell"; never "there is none". */
export type Failure = Extract<Answer<never>, { kind: 'servfail' | 'refused' | 'timeout' }>;

/** A `message` has RCODE NOERROR or NXDOMAIN and comes from a server that may say so. */
export type Reply = { readonly kind: 'message'; readonly message: Message } | Failure;

/** A name server as it was delegated to; `glue` are the addresses that came along. */
export type NameServer = { readonly name: string; readonly glue: readonly string[] };

/** "Ask the servers of this zone instead" (RFC 1034, 4.3.1). */
export type Referral = {
  readonly kind: 'referral';
  readonly zone: string;
  readonly servers: readonly NameServer[];
  readonly ttlSeconds: number;
};

/** The answer of a recursive server. One that does not offer recursion answers from what it happens to have: refused. */
export function judgeRecursive(answer: WireAnswer): Reply {
  if (answer.kind !== 'response') return failureOf(answer.kind);
  const { message } = answer;
  const failure = rcodeFailure(message);
  if (failure !== undefined) return failure;
  return message.recursionAvailable ? { kind: 'message', message } : { kind: 'refused' };
}

/** The answer of a server of `zone` about `name`. Without the AA flag it is a referral downwards, or lame: refused. */
export function judgeAuthority(answer: WireAnswer, zone: string, name: string): Reply | Referral {
  if (answer.kind !== 'response') return failureOf(answer.kind);
  const { message } = answer;
  const failure = rcodeFailure(message);
  if (failure !== undefined) return failure;
  if (message.authoritative) return { kind: 'message', message };
  return referralIn(message, zone, name) ?? { kind: 'refused' };
}

function failureOf(kind: 'timeout' | 'malformed'): Failure {
  return { kind: kind === 'timeout' ? 'timeout' : 'servfail' };
}

/** FORMERR, NOTIMP and whatever is new count as servfail: the server works, but not for this question. */
function rcodeFailure({ rcode }: Message): Failure | undefined {
  switch (rcode) {
    case rcodes.NOERROR:
    case rcodes.NXDOMAIN:
      return undefined;
    case rcodes.REFUSED:
    case rcodes.NOTAUTH:
      return { kind: 'refused' };
    default:
      return { kind: 'servfail' };
  }
}

/** Only downwards: a referral to the zone itself, above it or beside the name leads nowhere. */
function referralIn(message: Message, zone: string, name: string): Referral | undefined {
  if (message.rcode !== rcodes.NOERROR || message.answers.length > 0) return undefined;
  const cut = message.authority.find((record) => record.type === 'NS')?.name;
  if (cut === undefined || cut === zone || !isWithin(cut, zone) || !isWithin(name, cut)) {
    return undefined;
  }
  const records = recordsAt(message.authority, cut, 'NS');
  const servers = records.map(({ target }) => ({
    name: target,
    // A server speaks for addresses in its own zone only; others are looked up.
    glue: isWithin(target, zone) ? addressesOf(message.additional, target) : [],
  }));
  return { kind: 'referral', zone: cut, servers, ttlSeconds: shortestTtl(records) };
}
