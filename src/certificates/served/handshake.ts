/** What is shown at the addresses of a name: a TLS handshake with each, as a visitor's browser makes it (RFC 6066, 3). */
import type { X509Certificate } from 'node:crypto';
import { connect, type TLSSocket } from 'node:tls';
import { reservedRange } from '../../core/names/reserved-addresses.ts';
import { outcomeOf } from './reachability.ts';

/** Of the connection alone. */
const CONNECT_MS = 5_000;
/** Our choice, as for challenges: a name has a few. */
const ADDRESSES_MAX = 8;

export type HandshakeRules = {
  /** Where visitors reach the edge: 443 but for laboratories. */
  readonly port: number;
  /** PEM to trust instead of the roots that visitors have. */
  readonly trust: string | null;
  /** Laboratories: whether addresses that nobody on the internet has are connected to. */
  readonly allowPrivate: boolean;
  /** From the connection to the end of the handshake. */
  readonly handshakeMs: number;
};

export type Seen =
  | {
      readonly address: string;
      readonly outcome: 'certificate';
      /** The leaf, whether it is good or not. */
      readonly certificate: X509Certificate;
      /** Why browsers refuse it for this name, as Node's code for it; null: they take it. */
      readonly refusal: string | null;
    }
  | {
      readonly address: string;
      readonly outcome: 'refused' | 'timeout' | 'no_route' | 'no_certificate' | 'reserved';
    };

/** Those that are looked at. */
export function addressesToAsk(addresses: readonly string[]): readonly string[] {
  return [...new Set(addresses)].slice(0, ADDRESSES_MAX);
}

/** One handshake with each address, at most 8. Never rejects for what the network does. */
export function lookAtShown(
  rules: HandshakeRules,
  hostname: string,
  addresses: readonly string[],
): Promise<readonly Seen[]> {
  return Promise.all(addressesToAsk(addresses).map((address) => lookAt(rules, hostname, address)));
}

async function lookAt(
  { port, trust, allowPrivate, handshakeMs }: HandshakeRules,
  hostname: string,
  address: string,
): Promise<Seen> {
  if (!allowPrivate && reservedRange(address) !== null) return { address, outcome: 'reserved' };
  const socket = connect({
    host: address,
    port,
    servername: hostname,
    rejectUnauthorized: false, // so that what is shown can be told
    ...(trust !== null && { ca: trust }),
  });
  try {
    const outcome = await handshake(socket, handshakeMs);
    return outcome === 'certificate' ? shownBy(socket, address) : { address, outcome };
  } finally {
    socket.destroy();
  }
}

function handshake(
  socket: TLSSocket,
  handshakeMs: number,
): Promise<Exclude<Seen['outcome'], 'reserved'>> {
  return new Promise((resolve) => {
    let isConnected = false;
    const late = () => resolve('timeout');
    let timer = setTimeout(late, CONNECT_MS);
    socket.once('connect', () => {
      isConnected = true;
      clearTimeout(timer);
      timer = setTimeout(late, handshakeMs);
    });
    socket.once('secureConnect', () => resolve('certificate'));
    // Also while it is being destroyed: without a listener, that would end the process.
    socket.on('error', (fault) => resolve(isConnected ? 'no_certificate' : outcomeOf(fault)));
    socket.once('close', () => {
      clearTimeout(timer);
      resolve('no_certificate');
    });
  });
}

function shownBy(socket: TLSSocket, address: string): Seen {
  const certificate = socket.getPeerX509Certificate();
  // A server may take part in a handshake without one where the client offers that; Node does not.
  if (certificate === undefined) return { address, outcome: 'no_certificate' };
  // A code, whatever its type says.
  const refusal = socket.authorized ? null : String(socket.authorizationError);
  return { address, outcome: 'certificate', certificate, refusal };
}
