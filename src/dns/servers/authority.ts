/** Sends one query to one name server of a zone. */
import { isSpent, type QueryBudget } from '../wire/budget.ts';
import type { RecordType } from '../wire/records.ts';
import type { Family } from '../wire/udp-sockets.ts';
import type { HostAddress, Hosts } from './hosts.ts';
import {
  classifyAuthoritative,
  type DnsReply,
  type NameServer,
  type NoReply,
  noReply,
  type Referral,
} from './reply.ts';
import { hasResponded, operatorOf, type Throttle } from './throttle.ts';

/** `address`: the one used or refused. */
export type Contact = { readonly address: string | null; readonly reply: DnsReply | Referral };

/** Without recursion. `name` is in the form of wire/name.ts. */
export type AuthorityQuestion = {
  readonly name: string;
  readonly type: RecordType;
  readonly plain?: true;
};

/** Rejects with RangeError for an invalid name, never because of the network. */
export type AuthorityAsker = {
  /** IPv4 first; if that is silent or missing, IPv6. The more informative result counts. */
  readonly ask: (
    zone: string,
    server: NameServer,
    question: AuthorityQuestion,
    budget: QueryBudget,
  ) => Promise<Contact>;
  /** A reserved address is refused without a message. */
  readonly askAt: (
    address: string,
    zone: string,
    server: NameServer,
    question: AuthorityQuestion,
    budget: QueryBudget,
  ) => Promise<DnsReply | Referral>;
  /** Whether any authoritative server has ever answered this process. */
  readonly hasResponded: () => boolean;
};

/** `authorityPort` is 53 except in test labs. */
export type AuthorityAskerOptions = {
  readonly throttle: Throttle;
  readonly hosts: Hosts;
  readonly authorityPort: number;
};

/** One per process. The throttle reports the results to `Reachability`. */
export function createAuthorityAsker(options: AuthorityAskerOptions): AuthorityAsker {
  const { throttle, hosts, authorityPort } = options;
  let responded = false;

  const askAt: AuthorityAsker['askAt'] = async (address, zone, server, question, budget) => {
    // Also checks addresses from earlier checks: a zone could point to our own network.
    if (!hosts.mayAsk(address)) return noReply('reserved_address');
    if (isSpent(budget)) return noReply('not_asked');
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
    if (found.kind !== 'address' && found.kind !== 'reserved') {
      return { address: null, reply: noReply(stateWithout(found, budget)) };
    }
    // `askAt` refuses reserved addresses.
    const { address } = found;
    return { address, reply: await askAt(address, zone, server, question, budget) };
  }

  return { ask, askAt, hasResponded: () => responded };
}

type Asked = Parameters<AuthorityAsker['ask']>;

/** No answer or no address in this family, and the lookup did not fail. */
function isWorthAnother(contact: Contact): boolean {
  const isUnknown = contact.address === null && stateOf(contact) === 'not_asked';
  return weight(contact) < ANSWERED && !isUnknown;
}

/** Any answer outranks silence; a missing address ranks last. */
const weights: { readonly [S in NoReply['state']]?: number } = {
  no_address: 0,
  alias_name: 0,
  lookup_failed: 0,
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

/** A silent or refusing resolver is our own problem and says nothing about the server. */
function stateWithout(
  found: Extract<HostAddress, { readonly kind: 'none' | 'alias' | 'failed' }>,
  budget: QueryBudget,
): NoReply['state'] {
  if (found.kind === 'none') return 'no_address';
  if (found.kind === 'alias') return 'alias_name';
  return found.failure.kind === 'servfail' && !isSpent(budget) ? 'lookup_failed' : 'not_asked';
}
