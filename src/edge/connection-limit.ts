/** How many connections one visitor's address may hold, so that nobody holds them all (src/edge/listeners.ts has the total). */
import type { Socket } from 'node:net';
import type { Logger } from 'pino';
import { addressGroup, clientAddress } from '../net/client-address.ts';
import { countConnections } from '../net/connections.ts';

export type ConnectionLimitRules = {
  /** For an IPv4 address, or an IPv6 /64. */
  readonly perAddress: number;
  /** Whose connections are everybody's: balancers that pass on the connections of others. */
  readonly isTrusted: (address: string) => boolean;
};

/** Counts a connection until it closes; false: it is one too many, and nobody has counted it. */
export type Admit = (socket: Socket) => boolean;

/** Our choice: one line about all who were refused in that time, however many. */
const REPORT_EVERY_MS = 60_000;

/** One count for every port that it is asked for. */
export function createConnectionLimit(
  { perAddress, isTrusted }: ConnectionLimitRules,
  log: Pick<Logger, 'warn'>,
): Admit {
  const connections = countConnections({ total: Number.POSITIVE_INFINITY, perAddress }, isTrusted);
  const report = createReporter(log);
  return (socket) => {
    const leave = connections.admit(socket.remoteAddress);
    if (leave === null) {
      report(addressGroup(clientAddress(socket.remoteAddress, undefined, isTrusted)));
      return false;
    }
    socket.once('close', leave);
    return true;
  };
}

/** The first refusal is told at once, and those that follow are counted. */
function createReporter(log: Pick<Logger, 'warn'>): (address: string) => void {
  let refused = 0;
  let isQuiet = false;
  return (address) => {
    refused += 1;
    if (isQuiet) return;
    isQuiet = true;
    log.warn({ address, refused }, 'an address has all the connections that it may have');
    refused = 0;
    setTimeout(() => {
      isQuiet = false;
    }, REPORT_EVERY_MS).unref();
  };
}
