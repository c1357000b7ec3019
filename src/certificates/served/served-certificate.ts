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
import { outcomeOf } from './probe.ts';

/** For the connection alone. */
const CONNECT_MS = 5_000;
/** As for challenges: a name has a few. Our choice. */
const ADDRESSES_MAX = 8;

/** How a handshake is made and checked. */
export type HandshakeRules = {
  /** The port at which visitors reach the edge: 443 but for laboratories. */
  readonly port: number;
  /** PEM to trust instead of Node's roots; null: those. */
  readonly trust: string | null;
  /** Whether addresses that nobody on the internet has are connected to, too (laboratories). */
  readonly allowPrivate: boolean;
  /** From the connection to the end of the handshake; the connection has 5 s of its own. */
  readonly handshakeMs: number;
};

/** What one address showed. `no_route`: this machine has no way there; `reserved`: it was not asked. */
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

/** Returns those that are asked: each once, the first 8. */
export function addressesToAsk(addresses: readonly string[]): readonly string[] {
  return [...new Set(addresses)].slice(0, ADDRESSES_MAX);
}

/**
 * Makes one handshake with each address at once, at most 8; the results are in their order. A certificate is returned
 * whether it is good or not. Never rejects for what the network does.
 */
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

/** An edge of ours has the certificate at hand, and browsers wait no longer either. */
const HANDSHAKE_MS = 5_000;
/** While an edge is silent, the checks of its other domains go on without waiting for it each time. Our choice. */
const SILENT_MS = 10_000;
const SILENT_MAX = 1_000;

/** Where visitors are sent, and where what they are shown is noted. */
export type RecordServedCertificateDeps = Pick<HandshakeRules, 'port' | 'allowPrivate'> &
  ServedCertificateStore & {
    /** The addresses of a name as the rest of the world resolves it. */
    readonly lookupAddresses: (hostname: string) => Promise<readonly string[]>;
    readonly now: () => Date;
    /** Shorter in tests. */
    readonly handshakeMs?: number;
  };

/**
 * Makes a handshake with each of the name's addresses, at most 8, and stores what they show, compared with our own
 * certificates. Never rejects for what the network does, and takes some 10 s at most.
 */
export type RecordServedCertificate = (domain: VisitedDomain) => Promise<void>;

/**
 * Returns a recorder that trusts Node's roots. An address that did not answer in time is taken as silent for the next 10
 * s, whichever domain it is asked for.
 */
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
