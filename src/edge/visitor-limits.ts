import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { addressGroup, clientAddress } from '../net/client-address.ts';
import { countConnections } from '../net/connections.ts';
import { createTokenBuckets } from '../net/token-buckets.ts';
import { createMinuteLog } from '../ops/log.ts';
import type { EdgeCounters } from '../ops/metrics/traffic.ts';

export type VisitorRules = {
  /** Open connections, on both ports together. */
  readonly connections: number;
  /** Per IPv4 address or IPv6 /64. */
  readonly connectionsPerAddress: number;
  /** Started TLS handshakes; bursts can be twice as large. */
  readonly handshakesPerSecond: number;
  /** Per IPv4 address or IPv6 /64; bursts can be five times as large, as when browsers restart. */
  readonly handshakesPerSecondAndAddress: number;
  /** Load balancers, whose connections belong to many visitors. */
  readonly isTrusted: (address: string) => boolean;
};

/** `now`: monotonic milliseconds. */
export function createVisitorLimits(
  rules: VisitorRules,
  log: Pick<Logger, 'warn'>,
  count: Pick<EdgeCounters, 'refused'>,
  now: () => number = () => performance.now(),
) {
  const { connections: total, connectionsPerAddress: perAddress, isTrusted } = rules;
  const connections = countConnections({ total, perAddress }, isTrusted);
  const rates = (perSecond: number, burst: number) =>
    createTokenBuckets({ perSecond, burst: perSecond * burst }, now);
  const ofAddress = rates(rules.handshakesPerSecondAndAddress, 5);
  const ofAll = rates(rules.handshakesPerSecond, 2);
  const reportConnections = createMinuteLog(log, 'connections of visitors were refused');
  const reportHandshakes = createMinuteLog(log, 'handshakes of visitors were refused');
  const penalties = new LRUCache<string, number>({ max: PENALTIES_MAX });
  const isPenalized = (socket: Socket) => now() < (penalties.get(groupOf(socket, isTrusted)) ?? 0);
  return {
    admitConnection(socket: Socket): boolean {
      const leave = isPenalized(socket) ? null : connections.admit(socket.remoteAddress);
      if (leave === null) {
        count.refused('connections');
        reportConnections({ address: groupOf(socket, isTrusted) });
        return false;
      }
      socket.once('close', leave);
      return true;
    },
    /** Takes one handshake of the current second. */
    admitHandshake(socket: Socket): boolean {
      const address = clientAddress(socket.remoteAddress, undefined, isTrusted);
      if (
        (isTrusted(address) || ofAddress.take(addressGroup(address)) === 0) &&
        ofAll.take('') === 0
      )
        return true;
      count.refused('handshakes');
      reportHandshakes({ address: addressGroup(address) });
      return false;
    },
    /** Refuses an abusive address for PENALTY_MS. Trusted addresses are exempt. */
    penalize(connection: Duplex): void {
      if (!(connection instanceof Socket)) return;
      const address = clientAddress(connection.remoteAddress, undefined, isTrusted);
      if (!isTrusted(address)) penalties.set(addressGroup(address), now() + PENALTY_MS);
    },
  };
}

/** A connection that is not admitted must be closed; it is not counted. */
export type VisitorLimits = ReturnType<typeof createVisitorLimits>;

/** A flood of requests on one connection costs about 20 ms of work. */
const PENALTY_MS = 10_000;
const PENALTIES_MAX = 10_000;

function groupOf({ remoteAddress }: Socket, isTrusted: VisitorRules['isTrusted']): string {
  return addressGroup(clientAddress(remoteAddress, undefined, isTrusted));
}
