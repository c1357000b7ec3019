/** The name servers that watched names are asked at, and how much each address and each operator is asked. */
import { type Load, noLoad, type Pace, stretchOf } from '../../core/watch/interval.ts';
import type { WatchedServer } from '../../core/watch/watched-name.ts';
import { operatorOf } from '../servers/throttle.ts';
import { createFifo, type Fifo } from './fifo.ts';

/** An address, or all servers under one registrable domain. */
export type Party = {
  readonly name: string;
  readonly load: Load;
  /** How many questions wait for an answer, and what is done when there is room for one more. */
  underWay: number;
  readonly line: Fifo<() => void>;
  /** When its rate allows the next question, on the steady clock. */
  nextAt: number;
  uses: number;
};

/** A server at one of its addresses, shared by all names that are asked there. */
export type Server = {
  readonly key: string;
  readonly name: string;
  readonly address: Party;
  readonly operator: Party;
  uses: number;
};

/** Questions a second that all names together may cost one operator, and one address. */
export type WatchRates = { readonly operator: number; readonly address: number };

/** An operator whose names are asked for less often than they should be; `stretch`: by what factor. */
export type Crowded = {
  readonly operator: string;
  readonly names: number;
  readonly stretch: number;
};

/** What `createServers` holds: a server is kept while a name is asked there. */
export type Servers = {
  readonly servers: Map<string, Server>;
  readonly addresses: Map<string, Party>;
  readonly operators: Map<string, Party>;
};

export function createServers(): Servers {
  return { servers: new Map(), addresses: new Map(), operators: new Map() };
}

/** Returns what a server is known by. */
export function keyOf({ server, address }: WatchedServer): string {
  return `${server} ${address}`;
}

/** Returns the one object that stands for the server; `releaseServer` once for each use. */
export function useServer(all: Servers, watched: WatchedServer): Server {
  const key = keyOf(watched);
  let server = all.servers.get(key);
  if (server === undefined) {
    const operator = useParty(all.operators, operatorOf(watched.server));
    server = {
      key,
      name: watched.server,
      address: useParty(all.addresses, watched.address),
      operator,
      uses: 0,
    };
    all.servers.set(key, server);
  }
  server.uses += 1;
  return server;
}

export function releaseServer(all: Servers, server: Server): void {
  server.uses -= 1;
  if (server.uses > 0) return;
  all.servers.delete(server.key);
  releaseParty(all.addresses, server.address);
  releaseParty(all.operators, server.operator);
}

function useParty(parties: Map<string, Party>, name: string): Party {
  let party = parties.get(name);
  if (party === undefined) {
    party = { name, load: noLoad(), underWay: 0, line: createFifo(), nextAt: 0, uses: 0 };
    parties.set(name, party);
  }
  party.uses += 1;
  return party;
}

function releaseParty(parties: Map<string, Party>, party: Party): void {
  party.uses -= 1;
  if (party.uses === 0) parties.delete(party.name);
}

/** So much may be asked at once after a while without questions, in ms of the rate; young names have room beside others. */
const BURST_MS = { young: 1_000, others: 500 } as const;

/**
 * Whether the rates of both parties allow one more question at `now`; takes it then. Intervals keep to the rates in the long
 * run; this holds while names come and go.
 */
export function takeQuestionAt(
  { address, operator }: Server,
  pace: Pace,
  rates: WatchRates,
  now: number,
): boolean {
  const burstMs = pace === 'young' ? BURST_MS.young : BURST_MS.others;
  if (Math.max(address.nextAt, operator.nextAt) > now + burstMs) return false;
  address.nextAt = Math.max(address.nextAt, now) + 1_000 / rates.address;
  operator.nextAt = Math.max(operator.nextAt, now) + 1_000 / rates.operator;
  return true;
}

/** Adds a name of this pace to all of its servers, or takes it out again (-1). */
export function countName(servers: readonly Server[], pace: Pace, sign: 1 | -1): void {
  const share = sign / servers.length;
  for (const { address, operator } of servers) {
    address.load[pace] += share;
    operator.load[pace] += share;
  }
}

/** Returns the factor by which the interval of a name that is asked here grows. */
export function stretchAt(
  { address, operator }: Server,
  pace: Pace,
  rates: WatchRates,
  scale: number,
): number {
  return Math.max(
    stretchOf(operator.load, pace, rates.operator, scale),
    stretchOf(address.load, pace, rates.address, scale),
  );
}

/** Returns the operators whose names older than half an hour are asked for less often than they should be. */
export function crowdedOperators(
  { operators }: Servers,
  rates: WatchRates,
  scale: number,
): readonly Crowded[] {
  return [...operators.values()].flatMap(({ name, load }) => {
    const stretch = stretchOf(load, 'pending', rates.operator, scale);
    const names = Math.round(load.young + load.pending + load.late + load.drifted + load.live);
    return stretch > 1 ? [{ operator: name, names, stretch }] : [];
  });
}
