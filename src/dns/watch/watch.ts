/**
 * Asks one name server after the other one question about each watched name, again and again, and says where an answer is
 * another than the last check saw. It decides nothing: a difference is a reason to check.
 */
import { type Pace, paceOf, watchIntervals } from '../../core/watch/interval.ts';
import type { WatchedName } from '../../core/watch/watched-name.ts';
import { type Circuits, createCircuits } from '../servers/circuit-breaker.ts';
import type { Reachability } from '../servers/reachability.ts';
import type { WireAnswer } from '../wire/exchange.ts';
import type { Question } from '../wire/message.ts';
import { digestIn, outcomeOf } from './answer.ts';
import { createDelegations } from './delegations.ts';
import { type Entry, isAsBefore, isToReport, newEntry, renewEntry } from './entry.ts';
import { createFifo, type Fifo } from './fifo.ts';
import {
  type Crowded,
  countName,
  createServers,
  crowdedOperators,
  type Party,
  releaseServer,
  type Server,
  type Servers,
  stretchAt,
  takeQuestionAt,
  useServer,
  type WatchRates,
} from './servers.ts';
import { createWheel, type Wheel } from './wheel.ts';

/** What the watch needs of the process that it runs in. */
export type WatchDeps = {
  /** Sends one question to a literal address. Never rejects for what the network does. */
  readonly ask: (question: Question, address: string) => Promise<WireAnswer>;
  /** Resolves with the digest of a name's delegation; null where nobody could tell. Never rejects for what the network does. */
  readonly lookupDelegation: (hostname: string) => Promise<number | null>;
  /** Called for a name that shows something new. Must not throw. */
  readonly onDifference: (name: Difference) => void;
  /** What all names together may cost an operator and an address: this process's part. */
  readonly rates: () => WatchRates;
  /** Is told what became of each question; while our own network is away, silence says nothing of a server. */
  readonly reachability: Pick<Reachability, 'note' | 'isBlocked'>;
  /** By how much a laboratory's short window shortens every interval; 1 in production. */
  readonly scale: number;
  /** ms since 1970, which ages are counted in. */
  readonly now: () => number;
  /** ms on a steady clock, which waits are counted in. */
  readonly steadyNow: () => number;
  /** 0 to 1; spreads names that came together. */
  readonly random: () => number;
};

/** A name whose servers show something else than its last check saw. */
export type Difference = Omit<WatchedName, 'servers'>;

/** What was done since the start. `deferred`: a rate kept a name from being asked for in time. */
export type WatchCounts = {
  asked: number;
  answered: number;
  unanswered: number;
  differing: number;
  deferred: number;
};

/** Watches names. Sends nothing by itself: `tick` sends what is due. */
export type Watch = {
  /** Begins to watch a name, or takes over what a newer check saw of it; one without servers is removed. */
  readonly put: (name: WatchedName) => void;
  readonly remove: (id: string) => void;
  readonly ids: () => Iterable<string>;
  readonly size: () => number;
  readonly tick: () => void;
  readonly counts: Readonly<WatchCounts>;
  readonly crowded: () => readonly Crowded[];
};

/** Times are kept to this many ms. */
const SLOT_MS = 20;
/** As many as checks have under way at an address (throttle.ts). */
const AT_ONCE = 2;
/** At so many of its servers a name is asked in one turn where they do not answer. */
const TRIES = 3;
/** After a stall, what is overdue is sent little by little: sockets hold so many answers and no more. */
const SENDS_PER_TICK = 1_024;

/** What the functions below share. */
type State = WatchDeps & {
  readonly entries: Map<string, Entry>;
  readonly servers: Servers;
  readonly circuits: Circuits;
  readonly wheel: Wheel<Entry>;
  readonly counts: WatchCounts;
  readonly due: Fifo<Entry>;
};

/** Call `tick` every 20 ms or so. */
export function createWatch(deps: WatchDeps): Watch {
  const state: State = {
    ...deps,
    entries: new Map(),
    servers: createServers(),
    circuits: createCircuits(deps.steadyNow),
    wheel: createWheel(SLOT_MS, deps.steadyNow()),
    counts: { asked: 0, answered: 0, unanswered: 0, differing: 0, deferred: 0 },
    due: createFifo(),
  };
  const { entries, servers, counts, steadyNow } = state;
  const delegations = createDelegations({
    ...deps,
    entries: () => entries.values(),
    onDifference: (entry) => report(state, entry),
  });
  return {
    put: (name) => put(state, name),
    remove: (id) => remove(state, id),
    ids: () => entries.keys(),
    size: () => entries.size,
    tick() {
      tick(state);
      delegations.tick(steadyNow());
    },
    counts,
    crowded: () => crowdedOperators(servers, deps.rates(), deps.scale),
  };
}

function put(state: State, name: WatchedName): void {
  const entry = state.entries.get(name.id);
  if (name.servers.length === 0) remove(state, name.id);
  else if (entry === undefined) add(state, name);
  else if (!isAsBefore(entry, name)) replace(state, entry, name);
}

function add(state: State, name: WatchedName): void {
  const { entries, random } = state;
  const entry = newEntry(name, serversOf(state, name), paceNow(state, name));
  entry.turn = Math.floor(random() * name.servers.length);
  entries.set(name.id, entry);
  countName(entry.servers, entry.pace, 1);
  wakeWithin(state, entry);
}

function replace(state: State, entry: Entry, name: WatchedName): void {
  const before = entry.servers;
  countName(before, entry.pace, -1);
  renewEntry(entry, name, serversOf(state, name), paceNow(state, name));
  for (const server of before) releaseServer(state.servers, server);
  countName(entry.servers, entry.pace, 1);
  if (entry.dueAt !== Number.POSITIVE_INFINITY) wakeWithin(state, entry);
}

function serversOf(state: State, { servers }: WatchedName): readonly Server[] {
  return servers.map((server) => useServer(state.servers, server));
}

function paceNow({ now, scale }: State, name: Pick<WatchedName, 'status' | 'since'>): Pace {
  return paceOf(name, now(), scale);
}

function remove(state: State, id: string): void {
  const entry = state.entries.get(id);
  if (entry === undefined) return;
  state.entries.delete(id);
  entry.gone = true;
  countName(entry.servers, entry.pace, -1);
  for (const server of entry.servers) releaseServer(state.servers, server);
}

/** Somewhere within its interval, so that names that came together do not stay together. */
function wakeWithin(state: State, entry: Entry): void {
  const dueAt = state.steadyNow() + state.random() * intervalOf(state, entry);
  if (entry.dueAt === 0 || dueAt < entry.dueAt) wakeAt(state, entry, dueAt);
}

function wakeAt({ wheel }: State, entry: Entry, dueAt: number): void {
  entry.dueAt = dueAt;
  wheel.add(entry, dueAt);
}

/** How long until a name is asked for again, ± 5 %, so that waits do not bunch. Its age may have changed its pace. */
function intervalOf(state: State, entry: Entry): number {
  const { scale, rates, random } = state;
  const pace = paceNow(state, entry);
  if (pace !== entry.pace) {
    countName(entry.servers, entry.pace, -1);
    countName(entry.servers, pace, 1);
    entry.pace = pace;
  }
  const server = entry.servers[entry.turn % entry.servers.length];
  const stretch = server === undefined ? 1 : stretchAt(server, pace, rates(), scale);
  return watchIntervals[pace] * scale * stretch * (0.95 + 0.1 * random());
}

function tick(state: State): void {
  const at = state.steadyNow();
  const { due, wheel } = state;
  for (const entry of wheel.due(at)) due.push(entry);
  for (let sent = 0; sent < SENDS_PER_TICK; ) {
    const entry = due.take();
    if (entry === undefined) return;
    // It may have gone, or have come forward, since it was given this time.
    if (entry.gone || entry.dueAt > at) continue;
    entry.dueAt = Number.POSITIVE_INFINITY;
    askNext(state, entry, TRIES);
    sent += 1;
  }
}

/** Why a server is not asked now. */
type Hindrance = 'busy' | 'over_rate';

/**
 * Asks the first of its servers, from its turn on, that may be asked now. Where none may, it waits in line at one that has
 * as many questions as it may, or comes again later.
 */
function askNext(state: State, entry: Entry, tries: number): void {
  const { servers, turn, zone } = entry;
  let hindered: { readonly server: Server; readonly by: Hindrance } | undefined;
  for (let i = 0; i < servers.length; i++) {
    const index = (turn + i) % servers.length;
    const server = servers[index];
    if (server === undefined || !state.circuits.admits(server.address.name, zone)) continue;
    const by = hindranceAt(state, entry, server);
    if (by === null) {
      entry.turn = index + 1;
      void send(state, entry, { server, index, tries });
      return;
    }
    hindered ??= { server, by };
  }
  if (hindered?.by === 'busy') {
    hindered.server.address.line.push(() => {
      if (!entry.gone) askNext(state, entry, tries);
    });
    return;
  }
  if (hindered !== undefined) state.counts.deferred += 1;
  const share = hindered === undefined ? 1 : state.random();
  wakeAt(state, entry, state.steadyNow() + share * intervalOf(state, entry));
}

function hindranceAt(
  { rates, steadyNow }: State,
  { pace }: Entry,
  server: Server,
): Hindrance | null {
  if (server.address.underWay >= AT_ONCE) return 'busy';
  return takeQuestionAt(server, pace, rates(), steadyNow()) ? null : 'over_rate';
}

/** Goes on with those that wait for room at an address. None of them comes back to its line while there is room. */
function serveLine(address: Party): void {
  while (address.underWay < AT_ONCE) {
    const goOn = address.line.take();
    if (goOn === undefined) return;
    goOn();
  }
}

/** One question: to whom, in which place among the servers of the name, and how many tries are left with it. */
type Try = {
  readonly server: Server;
  readonly index: number;
  readonly tries: number;
};

async function send(state: State, entry: Entry, { server, index, tries }: Try): Promise<void> {
  const { counts, circuits, ask, reachability } = state;
  const { address, name: serverName } = server;
  const { version, hostname, zone } = entry;
  counts.asked += 1;
  address.underWay += 1;
  circuits.sent(address.name, zone);
  const question = { name: hostname, type: 'A', recursionDesired: false } as const;
  const answer = await ask(question, address.name);
  address.underWay -= 1;
  const outcome = outcomeOf(answer);
  if (outcome !== 'nothing') reachability.note(serverName, outcome === 'answer');
  const saysNothing = outcome === 'silence' && reachability.isBlocked();
  circuits.ended(address.name, zone, saysNothing ? 'nothing' : outcome);
  serveLine(address);
  if (entry.gone) return;
  const digest = digestIn(answer, hostname);
  counts[digest === null ? 'unanswered' : 'answered'] += 1;
  if (digest === null && tries > 1) {
    askNext(state, entry, tries - 1);
    return;
  }
  const at = state.steadyNow();
  wakeAt(state, entry, at + intervalOf(state, entry));
  // A newer check may have been put meanwhile.
  if (digest === null || version !== entry.version || !isToReport(entry, index, digest, at)) return;
  report(state, entry);
}

function report({ counts, onDifference }: State, entry: Entry): void {
  counts.differing += 1;
  const { id, epoch, hostname, status, since } = entry;
  onDifference({ id, epoch, hostname, status, since });
}
