/** The configured resolvers. */
import { getServers } from 'node:dns';
import { isIP } from 'node:net';
import type { SocketAddress } from '../../config/config.ts';
import { isSpent, type QueryBudget } from '../wire/budget.ts';
import type { WireAnswer } from '../wire/exchange.ts';
import type { Question } from '../wire/message.ts';
import type { RecordType } from '../wire/records.ts';
import type { Wire } from '../wire/wire.ts';
import { type CountQuestion, questionOutcome } from './question-outcome.ts';
import { classifyRecursive, type DnsReply, noReply } from './reply.ts';

type RecursiveAnswer = {
  /** The resolver that answered, or the first that failed; NO_RESOLVER if there is none. */
  readonly server: string;
  readonly reply: DnsReply;
};

/** Always with recursion. */
type RecursiveQuestion = Omit<Question, 'recursionDesired'>;

/** Rejects with RangeError for an invalid name, never because of the network. */
export type Recursive = {
  /** In configuration order; empty if the host has none. */
  readonly servers: readonly SocketAddress[];
  /** Those that were silent within the last 30 s come last. */
  readonly inTurn: () => readonly SocketAddress[];
  /** In turn until one gives a usable reply; otherwise the first failure. */
  readonly ask: (name: string, type: RecordType, budget: QueryBudget) => Promise<RecursiveAnswer>;
  readonly askOne: (
    question: RecursiveQuestion,
    server: SocketAddress,
    budget: QueryBudget,
  ) => Promise<WireAnswer>;
};

const DNS_PORT = 53;
/** For this long, a silent resolver is queried last. */
const QUIET_MS = 30_000;

/** Uses the system's resolvers if `configured` is empty. `count`: with operator `recursive`. */
export function createRecursive(
  wire: Wire,
  configured: readonly SocketAddress[],
  count: CountQuestion = () => {},
): Recursive {
  const servers = configured.length > 0 ? configured : systemServers(getServers());
  const quietUntil = new Map<SocketAddress, number>();

  const askOne: Recursive['askOne'] = async (question, server, budget) => {
    const answer = await wire.ask({ ...question, recursionDesired: true }, server, { budget });
    count('recursive', questionOutcome(answer));
    if (answer.kind !== 'timeout') quietUntil.delete(server);
    // If our own budget cut it short, the resolver can just be slow.
    else if (!isSpent(budget)) quietUntil.set(server, performance.now() + QUIET_MS);
    return answer;
  };

  function inTurn(): readonly SocketAddress[] {
    const isQuiet = (server: SocketAddress) =>
      (quietUntil.get(server) ?? Number.NEGATIVE_INFINITY) > performance.now();
    const quiet = servers.filter(isQuiet);
    return [...servers.filter((server) => !quiet.includes(server)), ...quiet];
  }

  async function ask(
    name: string,
    type: RecordType,
    budget: QueryBudget,
  ): Promise<RecursiveAnswer> {
    let failed: RecursiveAnswer | undefined;
    for (const server of inTurn()) {
      const reply = classifyRecursive(await askOne({ name, type }, server, budget));
      const answer = { server: server.address, reply };
      if (reply.kind === 'message') return answer;
      // The failure of the preferred resolver is reported.
      failed ??= answer;
    }
    return failed ?? { server: NO_RESOLVER, reply: noReply('servfail') };
  }

  return { servers, inTurn, ask, askOne };
}

/** For a host without resolvers. */
export const NO_RESOLVER = 'none';

/** The forms of node:dns, such as `192.0.2.1:5353` or `[2001:db8::1]:5353`. Skips others. */
export function systemServers(texts: readonly string[]): readonly SocketAddress[] {
  return texts.flatMap((text) => {
    if (isIP(text) !== 0) return [{ address: text, port: DNS_PORT }];
    const [, address = '', port = ''] = /^\[?(.+?)\]?:(\d+)$/.exec(text) ?? [];
    return isIP(address) === 0 ? [] : [{ address, port: Number(port) }];
  });
}
