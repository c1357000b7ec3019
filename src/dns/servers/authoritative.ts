/** A question to the name servers of the zone that a name is in, referrals followed downwards. */

import type { Budget } from '../wire/budget.ts';
import type { RecordType } from '../wire/records.ts';
import type { Authorities } from './authorities.ts';
import type { AuthorityAsker, AuthorityQuestion, Contact } from './authority.ts';
import { REFERRALS_MAX } from './delegation.ts';
import {
  type Failure,
  failureOf,
  type NameServer,
  type Referral,
  type ReplyMessage,
} from './reply.ts';
import { inTurns } from './turns.ts';
import type { Zone } from './zone.ts';

/** What a question may cost, and whom to ask first. */
export type AskOptions = {
  readonly budget: Budget;
  /** Names of servers that have just answered: they are asked before the others. */
  readonly answering?: ReadonlySet<string>;
  /** Asks one server in place of the asker, as a check does that remembers replies; it pays by itself. */
  readonly askServer?: AskServer;
};

/** Asks one server of a zone. */
export type AskServer = (
  zone: Zone,
  server: NameServer,
  question: AuthorityQuestion,
) => Promise<Contact>;

/** Asks the zone of a name. Rejects with RangeError for a name that cannot be asked, never for what the network does. */
export type Authoritative = {
  /** Resolves with the reply of the first server that can tell; else with the failure of the first one. */
  readonly ask: (
    name: string,
    type: RecordType,
    options: AskOptions,
  ) => Promise<ReplyMessage | Failure>;
};

/**
 * Asks the deepest zone that is known. What its servers refer to is remembered, so that the next question about a name
 * there goes straight to the right ones. `now` is on the clock of Date.now(); it decides which of many servers are asked.
 */
export function createAuthoritative(
  asker: AuthorityAsker,
  authorities: Authorities,
  now: () => number = Date.now,
): Authoritative {
  async function ask(
    name: string,
    type: RecordType,
    options: AskOptions,
  ): Promise<ReplyMessage | Failure> {
    const start = await authorities.zoneFor(name, options.budget);
    if (start.kind === 'unregistered') return start.reply;
    if (start.kind === 'unreached') return { kind: 'timeout', ours: true };
    if (start.kind !== 'zone') return failureOf(start);
    let zone = start;
    for (let referrals = 0; referrals <= REFERRALS_MAX; referrals++) {
      const answer = await askZone(zone, { name, type }, options);
      if (answer.kind !== 'referral') return answer;
      zone = authorities.delegated(answer, zone);
    }
    return { kind: 'servfail' };
  }

  /** Asks one server after the other until one can tell. */
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
    // Perhaps the domain has moved to other servers: the next check asks for them again.
    authorities.forget(zone, question.name);
    return failure ?? { kind: 'servfail' };
  }

  function byAsker(budget: Budget): AskServer {
    return (zone, server, question) => asker.ask(zone.name, server, question, budget);
  }

  return { ask };
}

/** Returns the servers that have just answered first, and no more than one check asks of a zone's servers. */
export function answeringFirst(
  servers: readonly NameServer[],
  answering: ReadonlySet<string>,
  now: number,
): readonly NameServer[] {
  const known = servers.filter(({ name }) => answering.has(name));
  const [turn = []] = inTurns(servers, now);
  return [...known, ...turn.filter((server) => !known.includes(server))];
}
