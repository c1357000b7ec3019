/** What is shown at the addresses of a name: a TLS handshake with each, as a visitor's browser makes it (RFC 6066, 3). */
import { X509Certificate } from 'node:crypto';
import { connect, type TLSSocket } from 'node:tls';
import { LRUCache } from 'lru-cache';
import { compareServed, type Handshake } from '../../core/certificates/served.ts';
import { reservedRange } from '../../core/names/reserved-addresses.ts';
import type {
  ServedCertificateStore,
  VisitedDomain,
} from '../../db/domains/served-certificates.ts';
import { readCertificate } from '../x509.ts';
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

/** Those that are checked. */
export function addressesToAsk(addresses: readonly string[]): readonly string[] {
  return [...new Set(addresses)].slice(0, ADDRESSES_MAX);
}

/** One handshake with each address, at most 8. Never rejects for what the network does. */
export function readServed(
  rules: HandshakeRules,
  hostname: string,
  addresses: readonly string[],
): Promise<readonly Seen[]> {
  return Promise.all(
    addressesToAsk(addresses).map((address) => readAddress(rules, hostname, address)),
  );
}

async function readAddress(
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

/** An edge of ours has the certificate at hand; who needs more than this, browsers do not wait for either. */
const HANDSHAKE_MS = 5_000;
/** Our choice: while an edge is silent, the checks of its other domains go on without waiting for it each time. */
const SILENT_MS = 10_000;
const SILENT_MAX = 1_000;

export type RecordServedCertificateDeps = Pick<HandshakeRules, 'port' | 'allowPrivate'> &
  ServedCertificateStore & {
    /** As the rest of the world resolves the name. */
    readonly lookupAddresses: (hostname: string) => Promise<readonly string[]>;
    readonly now: () => Date;
    /** Shorter in tests. */
    readonly handshakeMs?: number;
  };

/**
 * Makes a handshake with each of the name's addresses, at most 8, and notes what they show. Never rejects for what the
 * network does, and takes some 10 s at most.
 */
export type RecordServedCertificate = (domain: VisitedDomain) => Promise<void>;

export function createRecordServedCertificate({
  lookupAddresses,
  ...deps
}: RecordServedCertificateDeps): RecordServedCertificate {
  const silent = new LRUCache<string, true>({ max: SILENT_MAX, ttl: SILENT_MS });
  const rules = { handshakeMs: HANDSHAKE_MS, ...deps, trust: null };
  return async (domain) => {
    // Before the handshakes, and the chains after them: a certificate that is stored meanwhile is no stranger's.
    const checkedAt = deps.now();
    const addresses = addressesToAsk(await lookupAddresses(domain.hostname));
    const asked = addresses.filter((address) => !silent.has(address));
    const seen = await readServed(rules, domain.hostname, asked);
    for (const { address, outcome } of seen) if (outcome === 'timeout') silent.set(address, true);
    const unasked = addresses
      .filter((address) => !asked.includes(address))
      .map((address) => ({ address, outcome: 'timeout' }) as const);
    const stored = seen.length === 0 ? [] : await deps.loadChains(domain.id);
    const compared = compareServed([...seen.map(inWords), ...unasked], stored.map(fingerprintOf));
    await deps.save(domain, { checkedAt, addresses: compared });
  };
}

/** Of a chain's first certificate, the leaf (RFC 8555, 9.1). */
function fingerprintOf(chain: string): string {
  return new X509Certificate(chain).fingerprint256;
}

function inWords(seen: Seen): Handshake {
  if (seen.outcome !== 'certificate') return seen;
  const { address, outcome, certificate } = seen;
  const { issuer, hostnames: names } = readCertificate(certificate.toString());
  return { address, outcome, fingerprint: certificate.fingerprint256, issuer, names };
}
