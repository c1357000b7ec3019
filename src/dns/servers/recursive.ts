/** Questions to the configured recursive servers, in their order, until one can tell; the silent ones come last. */
import { getServers } from 'node:dns';
import { isIP } from 'node:net';
import type { SocketAddress } from '../../config/config.ts';
import { type Budget, isSpent } from '../wire/budget.ts';
import type { WireAnswer } from '../wire/exchange.ts';
import type { Question } from '../wire/message.ts';
import type { RecordType } from '../wire/records.ts';
import type { Wire } from '../wire/wire.ts';
import { classifyRecursive, type Reply, untold } from './reply.ts';
import { type CountQuestion, questionOutcome } from './throttle.ts';

/** One reply, and whose it is. */
export type RecursiveAnswer = {
  /** The address of the server that answered, or of the first one that failed; NOBODY where there is none. */
  readonly server: string;
  readonly reply: Reply;
};

/** A question to one server; recursion is always desired. */
export type RecursiveQuestion = Omit<Question, 'recursionDesired'>;

/**
 * Asks the configured recursive servers. Rejects with RangeError for a name that cannot be asked, never for what the
 * network does.
 */
export type Recursive = {
  /** In the order of the configuration; empty where the host has none. */
  readonly servers: readonly SocketAddress[];
  /** Returns the same servers, with those last that were silent within the last 30 s. */
  readonly inTurn: () => readonly SocketAddress[];
  /** Asks one after the other until one can tell; resolves with the first failure where none can. */
  readonly ask: (name: string, type: RecordType, budget: Budget) => Promise<RecursiveAnswer>;
  /** Asks one server only, whatever it says. */
  readonly askOne: (
    question: RecursiveQuestion,
    server: SocketAddress,
    budget: Budget,
  ) => Promise<WireAnswer>;
};

const DNS_PORT = 53;
/**
 * For so long the others are asked before one that was silent: a check has no time to wait for it again each time. Our
 * choice.
 */
const QUIET_MS = 30_000;

/**
 * Asks the system's own servers where `configured` is empty. `count` is called after every question, as operator
 * `recursive`.
 */
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
    // Cut short by our own budget, it may just be slow.
    else if (!isSpent(budget)) quietUntil.set(server, performance.now() + QUIET_MS);
    return answer;
  };

  function inTurn(): readonly SocketAddress[] {
    const isQuiet = (server: SocketAddress) =>
      (quietUntil.get(server) ?? Number.NEGATIVE_INFINITY) > performance.now();
    const quiet = servers.filter(isQuiet);
    return [...servers.filter((server) => !quiet.includes(server)), ...quiet];
  }

  async function ask(name: string, type: RecordType, budget: Budget): Promise<RecursiveAnswer> {
    let failed: RecursiveAnswer | undefined;
    for (const server of inTurn()) {
      const reply = classifyRecursive(await askOne({ name, type }, server, budget));
      const answer = { server: server.address, reply };
      if (reply.kind === 'message') return answer;
      // The one that was preferred, so its failure is the one to report.
      failed ??= answer;
    }
    return failed ?? { server: NOBODY, reply: untold('servfail') };
  }

  return { servers, inTurn, ask, askOne };
}

/** The name of the server in an answer on a host that has no recursive servers. */
export const NOBODY = 'none';

/**
 * Parses what node:dns gives: `192.0.2.1`, `192.0.2.1:5353`, `2001:db8::1` or `[2001:db8::1]:5353`. What is none of
 * these is left out.
 */
export function systemServers(texts: readonly string[]): readonly SocketAddress[] {
  return texts.flatMap((text) => {
    if (isIP(text) !== 0) return [{ address: text, port: DNS_PORT }];
    const [, address = '', port = ''] = /^\[?(.+?)\]?:(\d+)$/.exec(text) ?? [];
    return isIP(address) === 0 ? [] : [{ address, port: Number(port) }];
  });
}
