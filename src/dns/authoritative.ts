/** A question to the name servers of the zone a name is in, referrals followed downwards. */
import type { Authorities, Zone } from './authorities.ts';
import type { Budget } from './budget.ts';
import {
  type Failure,
  judgeAuthority,
  type NameServer,
  type Referral,
  type Reply,
} from './reply.ts';
import type { Message } from './wire/message.ts';
import type { RecordType } from './wire/records.ts';
import type { Wire } from './wire/wire.ts';

type Answered = {
  readonly kind: 'answered';
  readonly server: string;
  readonly message: Message;
  /** One more question about the name, to the server that answered. */
  readonly askAgain: (type: RecordType) => Promise<Reply>;
};

export type AuthorityAnswer =
  | Answered
  /** Nobody could tell: each server that was tried, and why. */
  | { readonly kind: 'failed'; readonly tried: readonly [Tried, ...Tried[]] };

/** A server's name, or the resolver's address where not even the zone's servers could be found. */
export type Tried = { readonly server: string; readonly failure: Failure };

/** Rejects with RangeError for a name that cannot be asked, never for what the network does. */
export type Authoritative = {
  readonly ask: (name: string, type: RecordType, budget: Budget) => Promise<AuthorityAnswer>;
};

/** As deep as BIND follows delegations. */
const REFERRALS_MAX = 7;

/**
 * Asks the deepest zone that is known; what its servers refer to is remembered, so that the next question about a
 * name there goes straight to the right ones.
 */
export function createAuthoritative(wire: Wire, authorities: Authorities): Authoritative {
  async function ask(name: string, type: RecordType, budget: Budget): Promise<AuthorityAnswer> {
    const start = await authorities.zoneFor(name, budget);
    if (start.kind !== 'zone') {
      return { kind: 'failed', tried: [{ server: start.server, failure: { kind: start.kind } }] };
    }
    let zone = start;
    for (let referrals = 0; referrals <= REFERRALS_MAX; referrals++) {
      const answer = await askZone(zone, name, type, budget);
      if (answer.kind !== 'referral') return answer;
      zone = authorities.delegated(answer);
    }
    return { kind: 'failed', tried: [{ server: zone.name, failure: { kind: 'servfail' } }] };
  }

  /** One server after the other until one can tell. */
  async function askZone(
    zone: Zone,
    name: string,
    type: RecordType,
    budget: Budget,
  ): Promise<AuthorityAnswer | Referral> {
    const tried: Tried[] = [];
    for (const server of zone.servers) {
      const answer = await askServer({ wire, authorities, budget }, zone, server, { name, type });
      if (answer.kind === 'answered' || answer.kind === 'referral') return answer;
      tried.push({ server: server.name, failure: answer });
    }
    // Perhaps the domain has moved to other servers: the next look asks for them anew.
    authorities.forget(zone);
    const [first = { server: zone.name, failure: { kind: 'servfail' } as const }, ...rest] = tried;
    return { kind: 'failed', tried: [first, ...rest] };
  }

  return { ask };
}

type Context = { readonly wire: Wire; readonly authorities: Authorities; readonly budget: Budget };

/** `answered` keeps the way back to the server, so that a second question goes to the same one. */
async function askServer(
  { wire, authorities, budget }: Context,
  zone: Zone,
  server: NameServer,
  { name, type }: { readonly name: string; readonly type: RecordType },
): Promise<Answered | Referral | Failure> {
  // Looked up only now: a zone's first server usually answers, and the others need no address then.
  const address = await authorities.addressOf(server, budget);
  if (address.kind !== 'address') return address;
  const askOnce = async (one: RecordType) => {
    const question = { name, type: one, recursionDesired: false };
    return judgeAuthority(await wire.ask(question, address.at, { budget }), zone.name, name);
  };
  const reply = await askOnce(type);
  if (reply.kind !== 'message') return reply;
  const askAgain = async (next: RecordType): Promise<Reply> => {
    const again = await askOnce(next);
    // A server that has just answered for the name and now points elsewhere is of two minds.
    return again.kind === 'referral' ? { kind: 'refused' } : again;
  };
  return { kind: 'answered', server: server.name, message: reply.message, askAgain };
}
