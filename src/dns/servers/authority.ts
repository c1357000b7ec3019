/** One question to one name server of a zone: found by its name, asked through the throttle, its answer classified. */
import { type Budget, isSpent } from '../wire/budget.ts';
import type { RecordType } from '../wire/records.ts';
import type { Family, HostAddress, Hosts } from './hosts.ts';
import {
  classifyAuthoritative,
  type NameServer,
  type NoReply,
  type Referral,
  type Reply,
  untold,
} from './reply.ts';
import { hasResponded, operatorOf, type Throttle } from './throttle.ts';

/** What came of asking a server. `address`: where it was asked, or must not be; null where there was nowhere to ask it. */
export type Contact = { readonly address: string | null; readonly reply: Reply | Referral };

/** A question without recursion. `name` is in the form of wire/name.ts. */
export type AuthorityQuestion = { readonly name: string; readonly type: RecordType };

/** Asks name servers. Rejects with RangeError for a name that cannot be asked, never for what the network does. */
export type AuthorityAsker = {
  /**
   * Asks at the server's IPv4 address; where that is silent, or there is none, at its IPv6 address. Resolves with the
   * contact that says more.
   */
  readonly ask: (
    zone: string,
    server: NameServer,
    question: AuthorityQuestion,
    budget: Budget,
  ) => Promise<Contact>;
  /** Asks at an address where the server was found before. A reserved address is refused without a message. */
  readonly askAt: (
    address: string,
    zone: string,
    server: NameServer,
    question: AuthorityQuestion,
    budget: Budget,
  ) => Promise<Reply | Referral>;
  /** Whether any authority has ever answered this process. */
  readonly hasResponded: () => boolean;
};

/** What an asker is made of. `authorityPort` is 53 but for laboratories. */
export type AuthorityAskerOptions = {
  readonly throttle: Throttle;
  readonly hosts: Hosts;
  readonly authorityPort: number;
};

/** One is enough for a process. What becomes of its questions is reported to `Reachability` by the throttle. */
export function createAuthorityAsker(options: AuthorityAskerOptions): AuthorityAsker {
  const { throttle, hosts, authorityPort } = options;
  let responded = false;

  const askAt: AuthorityAsker['askAt'] = async (address, zone, server, question, budget) => {
    // Also one that an earlier check has kept: a zone could aim us at our own network.
    if (!hosts.mayAsk(address)) return untold('reserved_address');
    if (isSpent(budget)) return untold('not_asked');
    const answer = await throttle.ask(
      { ...question, recursionDesired: false },
      { address, port: authorityPort },
      { budget, zone, serverName: server.name, operator: operatorOf(server.name) },
    );
    responded ||= hasResponded(answer);
    return classifyAuthoritative(answer, zone, question.name);
  };

  const ask: AuthorityAsker['ask'] = async (zone, server, question, budget) => {
    const first = await askFamily(4, zone, server, question, budget);
    if (!isWorthAnother(first)) return first;
    const second = await askFamily(6, zone, server, question, budget);
    return weight(second) > weight(first) ? second : first;
  };

  async function askFamily(family: Family, ...[zone, server, question, budget]: Asked) {
    const found = await hosts.find(server, family, budget);
    if (found.kind === 'none' || found.kind === 'alias' || found.kind === 'failed') {
      return { address: null, reply: untold(stateWithout(found, budget)) };
    }
    // A reserved one is not asked: `askAt` says so.
    const { address } = found;
    return { address, reply: await askAt(address, zone, server, question, budget) };
  }

  return { ask, askAt, hasResponded: () => responded };
}

type Asked = Parameters<AuthorityAsker['ask']>;

/** A server without an answer at its IPv4 address, or without one, may answer at the other, unless we cannot tell where. */
function isWorthAnother(contact: Contact): boolean {
  const isUnknown = contact.address === null && stateOf(contact) === 'not_asked';
  return weight(contact) < ANSWERED && !isUnknown;
}

/** Any answer says more than silence, silence more than what keeps us from asking, and to have no address the least. */
const weights: { readonly [S in NoReply['state']]?: number } = {
  no_address: 0,
  alias_name: 0,
  reserved_address: 1,
  not_asked: 2,
  timeout: 3,
};
const ANSWERED = 4;

function weight(contact: Contact): number {
  const state = stateOf(contact);
  return (state && weights[state]) ?? ANSWERED;
}

function stateOf({ reply }: Contact): NoReply['state'] | undefined {
  return 'state' in reply ? reply.state : undefined;
}

/**
 * A resolver that fails has found nobody who knows the address; one that is silent or refuses is our own trouble, and
 * nothing is known of the server.
 */
function stateWithout(
  found: Extract<HostAddress, { readonly kind: 'none' | 'alias' | 'failed' }>,
  budget: Budget,
): NoReply['state'] {
  if (found.kind === 'none') return 'no_address';
  if (found.kind === 'alias') return 'alias_name';
  return found.failure.kind === 'servfail' && !isSpent(budget) ? 'no_address' : 'not_asked';
}
