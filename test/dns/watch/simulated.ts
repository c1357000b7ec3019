/** The watch under a clock of the test's own, with servers that show, lose and forge what the test says. */
import type { WatchedName, WatchedServer } from '../../../src/core/watch/watched-name.ts';
import { digestOf } from '../../../src/core/watch/watched-name.ts';
import type { WatchRates } from '../../../src/dns/watch/servers.ts';
import { createWatch, type Difference, type Watch } from '../../../src/dns/watch/watch.ts';
import type { WireAnswer } from '../../../src/dns/wire/exchange.ts';
import { type Message, type Question, rcodes } from '../../../src/dns/wire/message.ts';

/** What the server at an address says to a question at a time; null: nothing. */
export type Says = (address: string, name: string, at: number) => string | 'servfail' | null;

export type Simulation = {
  readonly watch: Watch;
  readonly differences: (Difference & { readonly at: number })[];
  readonly asked: { readonly address: string; readonly name: string; readonly at: number }[];
  /** Whose delegation was asked for. */
  readonly delegationQuestions: readonly { readonly hostname: string; readonly at: number }[];
  /** The most questions that an address ever had under way. */
  readonly mostAtOnce: () => number;
  /** Lets time pass, in steps of 20 ms. */
  readonly pass: (ms: number) => Promise<void>;
  readonly now: () => number;
};

/** Answers take `rttMs`, silence `timeoutMs`. */
export function simulate(
  says: Says,
  {
    rates = { operator: 1_000, address: 1_000 },
    rttMs = 20,
    timeoutMs = 1_000,
    scale = 1,
    isBlocked = () => false,
    random = drawn(),
    delegationAt = () => 1,
  }: {
    rates?: WatchRates;
    rttMs?: number;
    timeoutMs?: number;
    scale?: number;
    isBlocked?: () => boolean;
    random?: () => number;
    delegationAt?: (hostname: string, at: number) => number | null;
  } = {},
): Simulation {
  let at = 0;
  const waiting: { readonly until: number; readonly act: () => void }[] = [];
  const underWay = new Map<string, number>();
  let most = 0;
  const [asked, differences]: [Simulation['asked'], Simulation['differences']] = [[], []];
  const delegationQuestions: { hostname: string; at: number }[] = [];

  function answer(question: Question, address: string): Promise<WireAnswer> {
    asked.push({ address, name: question.name, at });
    const count = (underWay.get(address) ?? 0) + 1;
    underWay.set(address, count);
    most = Math.max(most, count);
    const shown = says(address, question.name, at);
    return new Promise((resolve) => {
      const act = () => {
        underWay.set(address, (underWay.get(address) ?? 0) - 1);
        resolve(shown === null ? { kind: 'timeout' } : responseOf(question.name, shown));
      };
      waiting.push({ until: at + (shown === null ? timeoutMs : rttMs), act });
    });
  }

  const watch = createWatch({
    ask: answer,
    lookupDelegation: async (hostname) => {
      delegationQuestions.push({ hostname, at });
      return delegationAt(hostname, at);
    },
    onDifference: (name) => differences.push({ ...name, at }),
    rates: () => rates,
    reachability: { note: () => {}, isBlocked },
    scale,
    now: () => at,
    steadyNow: () => at,
    random,
  });

  return {
    watch,
    differences,
    asked,
    delegationQuestions,
    mostAtOnce: () => most,
    now: () => at,
    async pass(ms) {
      const end = at + ms;
      while (at < end) {
        at = Math.min(end, at + 20);
        const over = waiting.filter(({ until }) => until <= at);
        for (const one of over) {
          waiting.splice(waiting.indexOf(one), 1);
          one.act();
        }
        // What was waiting for an answer goes on first.
        if (over.length > 0) await new Promise((resolve) => setImmediate(resolve));
        const before = delegationQuestions.length;
        watch.tick();
        if (delegationQuestions.length > before)
          await new Promise((resolve) => setImmediate(resolve));
      }
    },
  };
}

/** A watched name at these addresses, whose last check saw `shown` at each. */
export function aName(
  id: string,
  shown: string,
  addresses: readonly string[],
  more: Partial<WatchedName> = {},
): WatchedName {
  const servers = addresses.map(
    (address, i): WatchedServer => ({
      server: `ns${i}.provider.example`,
      address,
      digest: digestFor(shown),
    }),
  );
  const hostname = `${id}.example.com`;
  return { id, epoch: 1, hostname, status: 'pending', since: -3_600_000, servers, ...more };
}

function digestFor(address: string): number {
  const a = { kind: 'records', records: [address], ttlSeconds: 60 } as const;
  return digestOf({ rcode: rcodes.NOERROR, cname: { kind: 'nodata' }, a }) ?? 0;
}

/** Numbers that are the same in each run, evenly between 0 and 1. */
export function drawn(seed = 1): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

function responseOf(name: string, shown: string): WireAnswer {
  const failed = shown === 'servfail';
  const record = { name, ttlSeconds: 60, type: 'A', address: shown } as const;
  const message: Message = {
    id: 0,
    response: true,
    authoritative: !failed,
    truncated: false,
    recursionDesired: false,
    recursionAvailable: false,
    authenticData: false,
    checkingDisabled: false,
    rcode: failed ? rcodes.SERVFAIL : rcodes.NOERROR,
    extendedErrors: [],
    question: undefined,
    answers: failed ? [] : [record],
    authority: [],
    additional: [],
  };
  return { kind: 'response', message, via: 'udp', rttMs: 1 };
}
