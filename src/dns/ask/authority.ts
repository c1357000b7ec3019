/** One question to one name server of a zone: found by its name, asked through the throttle, judged. */
import { type Budget, isSpent } from '../budget.ts';
import { operatorOf, type Throttle } from '../throttle.ts';
import type { RecordType } from '../wire/records.ts';
import type { Family, HostAddress, Hosts } from '../zones/hosts.ts';
import {
  judgeAuthority,
  type NameServer,
  type Referral,
  type Reply,
  type Untold,
  untold,
} from './reply.ts';

/** `address`: where it was asked; null where there was nowhere to ask it. */
export type Contact = { readonly address: string | null; readonly reply: Reply | Referral };

export type AuthorityQuestion = { readonly name: string; readonly type: RecordType };

/** Rejects with RangeError for a name that cannot be asked, never for what the network does. */
export type AuthorityAsker = {
  /** At its IPv4 address; where that is silent, or there is none, at the IPv6 address. */
  readonly ask: (
    zone: string,
    server: NameServer,
    question: AuthorityQuestion,
    budget: Budget,
  ) => Promise<Contact>;
  /** Where it has been found before. */
  readonly askAt: (
    address: string,
    zone: string,
    server: NameServer,
    question: AuthorityQuestion,
    budget: Budget,
  ) => Promise<Reply | Referral>;
  /** Whether any authority has ever answered this process. */
  readonly hasHeard: () => boolean;
};

export type AuthorityAskerOptions = {
  readonly throttle: Throttle;
  readonly hosts: Hosts;
  readonly authorityPort: number;
};

/** One for the whole process. What becomes of its questions the throttle tells `Reachability`. */
export function createAuthorityAsker(options: AuthorityAskerOptions): AuthorityAsker {
  const { throttle, hosts, authorityPort } = options;
  let heard = false;

  const askAt: AuthorityAsker['askAt'] = async (address, zone, server, question, budget) => {
    if (isSpent(budget)) return untold('not_asked');
    const answer = await throttle.ask(
      { ...question, recursionDesired: false },
      { address, port: authorityPort },
      { budget, operator: operatorOf(server.name) },
    );
    heard ||= answer.kind === 'response' || answer.kind === 'malformed';
    return judgeAuthority(answer, zone, question.name);
  };

  const ask: AuthorityAsker['ask'] = async (zone, server, question, budget) => {
    const first = await askFamily(4, zone, server, question, budget);
    if (!isWorthAnother(first)) return first;
    const second = await askFamily(6, zone, server, question, budget);
    return saysMore(first, second) ? first : second;
  };

  async function askFamily(family: Family, ...[zone, server, question, budget]: Asked) {
    const found = await hosts.find(server, family, budget);
    if (found.kind !== 'address') {
      return { address: null, reply: untold(stateWithout(found, budget)) };
    }
    const { address } = found;
    return { address, reply: await askAt(address, zone, server, question, budget) };
  }

  return { ask, askAt, hasHeard: () => heard };
}

type Asked = Parameters<AuthorityAsker['ask']>;

/** A server that is silent at its IPv4 address, or has none, may answer at the other. */
function isWorthAnother({ address, reply }: Contact): boolean {
  if (reply.kind === 'message' || reply.kind === 'referral') return false;
  return address === null ? reply.state !== 'not_asked' : reply.state === 'timeout';
}

/** Silence at an address says more than all but an answer at the other one; to have no address at all says the least. */
function saysMore(first: Contact, second: Contact): boolean {
  if (stateOf(first) === 'no_address') return false;
  const then = stateOf(second);
  return second.address === null || then === 'timeout' || then === 'not_asked';
}

function stateOf({ reply }: Contact): Untold['state'] | undefined {
  return 'state' in reply ? reply.state : undefined;
}

/**
 * A resolver that fails has found nobody who knows the address; one that is silent or refuses is our own trouble, and
 * nothing is known of the server.
 */
function stateWithout(
  found: Exclude<HostAddress, { readonly kind: 'address' }>,
  budget: Budget,
): Untold['state'] {
  if (found.kind === 'reserved') return 'reserved_address';
  if (found.kind === 'none') return 'no_address';
  return found.failure.kind === 'servfail' && !isSpent(budget) ? 'no_address' : 'not_asked';
}
