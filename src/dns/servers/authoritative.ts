import type { QueryBudget } from '../wire/budget.ts';
import type { RecordType } from '../wire/records.ts';
import type { NameServers } from './authorities.ts';
import type { AuthorityAsker, AuthorityQuestion, Contact } from './authority.ts';
import { REFERRALS_MAX } from './delegation.ts';
import { answeringFirst } from './query-order.ts';
import {
  type Failure,
  failureOf,
  type NameServer,
  type Referral,
  type ReplyMessage,
} from './reply.ts';
import type { Zone } from './zone.ts';

export type AskOptions = {
  readonly budget: QueryBudget;
  /** Names of servers that just answered; they are queried first. */
  readonly answering?: ReadonlySet<string>;
  /** Instead of the asker, for a check that caches replies. It counts the budget itself. */
  readonly askServer?: AskServer;
};

type AskServer = (zone: Zone, server: NameServer, question: AuthorityQuestion) => Promise<Contact>;

/** Rejects with RangeError for an invalid name, never because of the network. */
export type Authoritative = {
  /** The first usable reply, or the first failure. */
  readonly ask: (
    name: string,
    type: RecordType,
    options: AskOptions,
  ) => Promise<ReplyMessage | Failure>;
};

/** Referrals are cached, so the next query goes to the right servers. `now`: since 1970. */
export function createAuthoritative(
  asker: AuthorityAsker,
  authorities: NameServers,
  now: () => number = Date.now,
): Authoritative {
  async function ask(
    name: string,
    type: RecordType,
    options: AskOptions,
  ): Promise<ReplyMessage | Failure> {
    const start = await authorities.zoneFor(name, options.budget);
    if (start.kind === 'unregistered') return start.reply;
    if (start.kind === 'unreached') return { kind: 'timeout' };
    if (start.kind !== 'zone') return failureOf(start);
    let zone = start;
    for (let referrals = 0; referrals <= REFERRALS_MAX; referrals++) {
      const answer = await askZone(zone, { name, type }, options);
      if (answer.kind !== 'referral') return answer;
      zone = authorities.delegated(answer, zone);
    }
    return { kind: 'servfail' };
  }

  async function askZone(
    zone: Zone,
    question: AuthorityQuestion,
    { budget, answering = new Set(), askServer = byAsker(budget) }: AskOptions,
  ): Promise<ReplyMessage | Referral | Failure> {
    let failure: Failure | undefined;
    for (const server of answeringFirst(zone.servers, answering, now())) {
      const { reply } = await askServer(zone, server, question);
      if (reply.kind === 'message' || reply.kind === 'referral') return reply;
      failure ??= failureOf(reply);
    }
    // The domain can have moved to other servers: the next check looks them up again.
    authorities.forget(zone, question.name);
    return failure ?? { kind: 'servfail' };
  }

  function byAsker(budget: QueryBudget): AskServer {
    return (zone, server, question) => asker.ask(zone.name, server, question, budget);
  }

  return { ask };
}
