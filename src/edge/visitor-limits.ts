/** How much of the edge one visitor's address may have, and all visitors together: connections, and handshakes a second. */
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { addressGroup, clientAddress } from '../net/client-address.ts';
import { countConnections } from '../net/connections.ts';
import type { EdgeCounters } from '../ops/metrics/traffic.ts';

/** How much visitors may have at once. */
export type VisitorRules = {
  /** Open connections, at both ports together. */
  readonly connections: number;
  /** Of those, for an IPv4 address, or an IPv6 /64. */
  readonly connectionsPerAddress: number;
  /** TLS handshakes that are begun; twice as many may come at once. */
  readonly handshakesPerSecond: number;
  /** Of those, for an IPv4 address, or an IPv6 /64; five times as many may come at once, as when browsers are restarted. */
  readonly handshakesPerSecondAndAddress: number;
  /** Whose connections are everybody's: balancers that pass on the connections of others. */
  readonly isTrusted: (address: string) => boolean;
};

/** What is not admitted is to be closed: nobody has counted it. */
export type VisitorLimits = {
  /** Counts a connection until it closes. */
  readonly admitConnection: (socket: Socket) => boolean;
  /** Takes one of the handshakes of this second. */
  readonly admitHandshake: (socket: Socket) => boolean;
  /** Refuses the address of a connection that was abused further connections for ten seconds; a trusted one's never. */
  readonly penalize: (socket: Duplex) => void;
};

/** Our choice: one line about all who were refused in that time, however many. */
const REPORT_EVERY_MS = 60_000;

/** `now`: milliseconds of a clock that never goes back. */
export function createVisitorLimits(
  rules: VisitorRules,
  log: Pick<Logger, 'warn'>,
  count: Pick<EdgeCounters, 'refused'>,
  now: () => number = () => performance.now(),
): VisitorLimits {
  const { connections: total, connectionsPerAddress: perAddress, isTrusted } = rules;
  const connections = countConnections({ total, perAddress }, isTrusted);
  const rates = (perSecond: number, burst: number) =>
    createTokenBuckets({ perSecond, burst: perSecond * burst }, now);
  const ofAddress = rates(rules.handshakesPerSecondAndAddress, 5);
  const ofAll = rates(rules.handshakesPerSecond, 2);
  const reportConnections = createReporter(log, 'connections of visitors were refused');
  const reportHandshakes = createReporter(log, 'handshakes of visitors were refused');
  const penalties = new LRUCache<string, number>({ max: PENALTIES_MAX });
  const isPenalized = (socket: Socket) => now() < (penalties.get(groupOf(socket, isTrusted)) ?? 0);
  return {
    admitConnection(socket) {
      const leave = isPenalized(socket) ? null : connections.admit(socket.remoteAddress);
      if (leave === null) {
        count.refused('connections');
        reportConnections(groupOf(socket, isTrusted));
        return false;
      }
      socket.once('close', leave);
      return true;
    },
    admitHandshake(socket) {
      const address = clientAddress(socket.remoteAddress, undefined, isTrusted);
      if ((isTrusted(address) || ofAddress(addressGroup(address))) && ofAll('')) return true;
      count.refused('handshakes');
      reportHandshakes(addressGroup(address));
      return false;
    },
    penalize(connection) {
      if (!(connection instanceof Socket)) return;
      const address = clientAddress(connection.remoteAddress, undefined, isTrusted);
      if (!isTrusted(address)) penalties.set(addressGroup(address), now() + PENALTY_MS);
    },
  };
}

/** Our choice: what a flood of requests on one connection costs is work of some 20 ms. */
const PENALTY_MS = 10_000;
const PENALTIES_MAX = 10_000;

function groupOf({ remoteAddress }: Socket, isTrusted: VisitorRules['isTrusted']): string {
  return addressGroup(clientAddress(remoteAddress, undefined, isTrusted));
}

/** Reports the first refusal at once, and those that follow with the next line, a minute later at the earliest: `refused` counts them. */
export function createReporter(log: Pick<Logger, 'warn'>, line: string): (address: string) => void {
  let refused = 0;
  let isQuiet = false;
  return (address) => {
    refused += 1;
    if (isQuiet) return;
    isQuiet = true;
    log.warn({ address, refused }, line);
    refused = 0;
    setTimeout(() => {
      isQuiet = false;
    }, REPORT_EVERY_MS).unref();
  };
}

/** `burst`: how many may come at once, where none came for a while. */
export type TokenRate = { readonly perSecond: number; readonly burst: number };

type Bucket = { tokens: number; at: number };

/** A bucket that has long been unused is full, so one that is forgotten is as good. */
const BUCKETS_MAX = 50_000;

/** Takes a token of a key's bucket; false where it is empty. `now`: milliseconds of a clock that never goes back. */
export function createTokenBuckets(
  { perSecond, burst }: TokenRate,
  now: () => number,
): (key: string) => boolean {
  const buckets = new LRUCache<string, Bucket>({ max: BUCKETS_MAX });
  return (key) => {
    const at = now();
    const bucket = buckets.get(key) ?? { tokens: burst, at };
    bucket.tokens = Math.min(burst, bucket.tokens + ((at - bucket.at) * perSecond) / 1_000);
    bucket.at = at;
    buckets.set(key, bucket);
    if (bucket.tokens < 1) return false;
    bucket.tokens -= 1;
    return true;
  };
}
