/** Reads the certificates that a name's addresses serve, like a browser (RFC 6066, 3). */
import { X509Certificate } from 'node:crypto';
import { connect, type TLSSocket } from 'node:tls';
import { LRUCache } from 'lru-cache';
import {
  type AddressShown,
  compareServed,
  type Handshake,
  type ServedCheck,
} from '../../core/certificates/served.ts';
import { reservedRange } from '../../core/names/reserved-addresses.ts';
import { SECOND } from '../../core/time.ts';
import type {
  ServedCertificateStore,
  VisitedDomain,
} from '../../db/domains/served-certificates.ts';
import { readCertificate } from '../x509.ts';
import { addressesToAsk, failureOutcome } from './probe.ts';

/** For the connection alone. */
const CONNECT_MS = 5_000;

export type HandshakeRules = {
  /** The port at which visitors reach the edge: 443 except in test labs. */
  readonly port: number;
  /** PEM to trust instead of Node's roots. */
  readonly trust: string | null;
  /** Connect to private addresses, too (test labs). */
  readonly allowPrivate: boolean;
  /** From connection to the end of the handshake; connecting has its own limit. */
  readonly handshakeMs: number;
};

/** `no_route`: no route from this machine; `reserved`: skipped. */
export type ServedResult =
  | {
      readonly address: string;
      readonly outcome: 'certificate';
      /** The leaf, valid or not. */
      readonly certificate: X509Certificate;
      /** Node's code for why browsers refuse it for this name. */
      readonly refusal: string | null;
    }
  | {
      readonly address: string;
      readonly outcome: 'refused' | 'timeout' | 'no_route' | 'no_certificate' | 'reserved';
    };

/** At most ADDRESSES_MAX, concurrently; keeps their order. Never rejects on network failures. */
export function readServed(
  rules: HandshakeRules,
  hostname: string,
  addresses: readonly string[],
): Promise<readonly ServedResult[]> {
  return Promise.all(
    addressesToAsk(addresses).map((address) => readAddress(rules, hostname, address)),
  );
}

async function readAddress(
  { port, trust, allowPrivate, handshakeMs }: HandshakeRules,
  hostname: string,
  address: string,
): Promise<ServedResult> {
  if (!allowPrivate && reservedRange(address) !== null) return { address, outcome: 'reserved' };
  const socket = connect({
    host: address,
    port,
    servername: hostname,
    rejectUnauthorized: false, // so that invalid certificates can be read
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
): Promise<Exclude<ServedResult['outcome'], 'reserved'>> {
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
    // Needed even during destruction: without a listener, an error would end the process.
    socket.on('error', (fault) => resolve(isConnected ? 'no_certificate' : failureOutcome(fault)));
    socket.once('close', () => {
      clearTimeout(timer);
      resolve('no_certificate');
    });
  });
}

function shownBy(socket: TLSSocket, address: string): ServedResult {
  const certificate = socket.getPeerX509Certificate();
  // A TLS server can omit its certificate if the client allows it; Node does not.
  if (certificate === undefined) return { address, outcome: 'no_certificate' };
  // A code, whatever its type says.
  const refusal = socket.authorized ? null : String(socket.authorizationError);
  return { address, outcome: 'certificate', certificate, refusal };
}

/** The edge has the certificate in memory, so a longer handshake is a failure. */
const HANDSHAKE_MS = 5_000;
/** An edge that missed a notification uses a new certificate after `edgeLimits.routeFreshMs`. */
const NEW_WAITS_MS = [SECOND, 3 * SECOND] as const;
/** Avoids repeated timeouts for the other domains of an unresponsive edge. */
const SILENT_MS = 10_000;
const SILENT_MAX = 1_000;

export type RecordServedCertificateDeps = Pick<HandshakeRules, 'port' | 'allowPrivate'> &
  ServedCertificateStore & {
    readonly lookupAddresses: (hostname: string) => Promise<readonly string[]>;
    readonly now: () => Date;
    readonly pause: (ms: number) => Promise<void>;
    /** Shorter in tests. */
    readonly handshakeMs?: number;
  };

/**
 * Compares with our certificates. Never rejects on network failures; takes about 10 s at most, 4 s
 * more with `isNew`: its certificate was just stored, and edges may need a moment to use it.
 */
export type RecordServedCertificate = (
  domain: VisitedDomain,
  options?: { readonly isNew?: boolean },
) => Promise<void>;

/** Trusts Node's roots. An address that timed out counts as silent for SILENT_MS. */
export function createRecordServedCertificate({
  lookupAddresses,
  ...deps
}: RecordServedCertificateDeps): RecordServedCertificate {
  const silent = new LRUCache<string, true>({ max: SILENT_MAX, ttl: SILENT_MS });
  const rules = { handshakeMs: HANDSHAKE_MS, ...deps, trust: null };
  async function check(domain: VisitedDomain): Promise<ServedCheck> {
    // Chains are loaded after the handshakes, so that a newer certificate is recognized.
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
    return { checkedAt, addresses: compared };
  }
  return async (domain, { isNew = false } = {}) => {
    // A proxy in front shows its own certificate.
    if (domain.findings.some(({ code }) => code === 'proxied')) return;
    let shown = await check(domain);
    for (const waitMs of isNew ? NEW_WAITS_MS : []) {
      if (!shown.addresses.some(isOutdated)) break;
      await deps.pause(waitMs);
      shown = await check(domain);
    }
    await deps.save(domain, shown);
  };
}

/** The edge does not use the stored certificate yet. */
function isOutdated({ outcome }: AddressShown): boolean {
  return outcome === 'no_certificate' || outcome === 'ours_before';
}

/** Of the chain's first certificate, the leaf (RFC 8555, 9.1). */
function fingerprintOf(chain: string): string {
  return new X509Certificate(chain).fingerprint256;
}

function inWords(seen: ServedResult): Handshake {
  if (seen.outcome !== 'certificate') return seen;
  const { address, outcome, certificate } = seen;
  const { issuer, hostnames: names } = readCertificate(certificate.toString());
  return { address, outcome, fingerprint: certificate.fingerprint256, issuer, names };
}
