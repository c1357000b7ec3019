/** Certificates ready for TLS. An ID's content never changes; a name's route selects the ID. */
import { constants, createHash, hkdfSync } from 'node:crypto';
import type { EventEmitter } from 'node:events';
import { createServer, type SecureContext, type Server } from 'node:tls';
import { LRUCache } from 'lru-cache';
import type { EdgeCertificate } from '../../certificates/served/proof-certificate.ts';
import { sealOf } from '../../certificates/vault/keys.ts';
import type { EdgeRoute } from '../../core/operations/edge-route.ts';
import { HOUR, SECOND } from '../../core/time.ts';
import { loadOnce } from '../../net/load-once.ts';
import type { EdgeService } from '../edge-service.ts';

/** Cached servers. One with a P-256 chain takes about 45 KiB (measured, Node 20). */
export const TLS_SERVERS_MAX = 1_000;

/** The suites of RFC 9325, 4.2 for P-256 keys: forward secrecy, authenticated encryption. */
export const tlsRules = {
  minVersion: 'TLSv1.2',
  ciphers: [
    'TLS_AES_128_GCM_SHA256',
    'TLS_AES_256_GCM_SHA384',
    'TLS_CHACHA20_POLY1305_SHA256',
    'ECDHE-ECDSA-AES128-GCM-SHA256',
    'ECDHE-ECDSA-AES256-GCM-SHA384',
    'ECDHE-ECDSA-CHACHA20-POLY1305',
  ].join(':'),
} as const;

/** Renegotiation would let a client cause expensive work repeatedly (RFC 9325, 3.5). */
export const visitorsRules = {
  ...tlsRules,
  ALPNProtocols: ['http/1.1'],
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
};

export type Site = Pick<EdgeRoute, 'hostname' | 'projectId'> & { readonly certificateId: string };

/** Receives the events of node:tls: `secureConnection` and `tlsClientError`. */
type Receiver = Pick<EventEmitter, 'emit'>;

/**
 * The server does not listen; pass connections by its event `connection`, in the same turn of the
 * event loop. Null if the certificate no longer exists. Throws what loading throws.
 */
export type FindSiteServer = (site: Site) => Promise<Server | null>;

type ServerParts = {
  readonly loadCertificate: LoadCertificate;
  /** Shared by all processes. */
  readonly ticketKeys: TicketKeys;
  readonly handshakeMs: number;
  readonly receiver: Receiver;
};

/** A server per site, because it determines whose sessions are resumed. `keptMax`: for tests. */
export function createTlsServers(
  parts: ServerParts,
  keptMax: number = TLS_SERVERS_MAX,
): FindSiteServer {
  const kept = new LRUCache<string, Made>({ max: keptMax, dispose: letGo });
  const find = loadOnce(
    kept,
    async (site: Site) => {
      const certificate = await parts.loadCertificate(site.certificateId);
      return certificate === null ? null : make(site, certificate, parts);
    },
    nameOf,
  );
  return async (site) => {
    const made = await find(site);
    if (made === null) return null;
    const keys = parts.ticketKeys();
    if (made.keys !== keys) made.server.setTicketKeys(keys);
    made.keys = keys;
    return made.server;
  };
}

type Made = { readonly server: Server; keys: Buffer };

function make(
  site: Site,
  { chain, key }: EdgeCertificate,
  { receiver, handshakeMs, ticketKeys }: ServerParts,
): Made {
  const keys = ticketKeys();
  try {
    const server = createServer({
      ...visitorsRules,
      cert: chain,
      key,
      ca: [], // no client certificates
      handshakeTimeout: handshakeMs,
      ticketKeys: keys,
      sessionTimeout: TICKETS_MS / SECOND,
      sessionIdContext: sessionContext(site),
    });
    server.on('secureConnection', (connection) => {
      // Node.js does not set it for resumed TLS 1.2 sessions. This server was found by that name.
      Object.assign(connection, { servername: site.hostname });
      receiver.emit('secureConnection', connection);
    });
    server.on('tlsClientError', (...fault) => receiver.emit('tlsClientError', ...fault));
    return { server, keys };
  } finally {
    if (typeof key !== 'string') key.fill(0); // OpenSSL has its own copy
  }
}

/** SSL_MAX_SID_CTX_LENGTH. */
const SESSION_CONTEXT_BYTES = 32;

/** OpenSSL resumes a session only in its context (SSL_CTX_set_session_id_context(3)). */
function sessionContext(site: Site): string {
  const hash = createHash('sha256').update(nameOf(site)).digest('base64url');
  return hash.slice(0, SESSION_CONTEXT_BYTES);
}

/** None of the three contains a space. */
function nameOf({ hostname, projectId, certificateId }: Site): string {
  return `${hostname} ${projectId} ${certificateId}`;
}

/**
 * Frees OpenSSL's memory, as Node.js does for a single connection's context (lib/_tls_wrap.js): V8
 * underestimates its size. Connections hold their own reference. Waits for callers that have just
 * received the server.
 */
function letGo({ server }: Made): void {
  const { context } = contextOf(server);
  setImmediate(() => context.close?.());
}

/** A property that @types/node lacks. */
function contextOf(server: Server): SecureContext {
  return (server as unknown as { readonly _sharedCreds: SecureContext })._sharedCreds;
}

// Keys of TLS session tickets.

/** RFC 9325, 3.4: at least weekly. Each change costs a visitor one full handshake. */
const TICKETS_MS = 12 * HOUR;
/** A name, a MAC key and an AES-128 key, 16 bytes each, as node:tls expects. */
const TICKET_KEY_BYTES = 48;

/** Returns the same Buffer while the keys are valid. */
type TicketKeys = () => Buffer;

/**
 * The same keys in every process, so that a visitor can resume at another edge. node:tls has one
 * set at a time, so older tickets need a full handshake. `secret`: `tickets` of the derived
 * secrets.
 */
export function createTicketKeys(secret: Uint8Array, now: () => Date): TicketKeys {
  let known = { period: Number.NaN, keys: Buffer.alloc(0) };
  return () => {
    const period = Math.floor(now().getTime() / TICKETS_MS);
    if (period !== known.period) {
      const derived = hkdfSync('sha256', secret, '', `keys ${period}`, TICKET_KEY_BYTES);
      known = { period, keys: Buffer.from(derived) };
    }
    return known.keys;
  };
}

// Certificates with their keys, decrypted at each load. An ID's content never changes.

/** Null: it does not exist (anymore). */
export type LoadCertificate = (certificateId: string) => Promise<EdgeCertificate | null>;

type Sealed = { readonly chain: string; readonly sealedKey: Uint8Array };

/** About 20,000 Let's Encrypt certificates of 3 KiB. */
const BYTES_MAX = 64 * 1024 * 1024;

export function createLoadCertificate({
  lookups,
  vault,
}: Pick<EdgeService, 'lookups' | 'vault'>): LoadCertificate {
  const loadSealed = keepCertificates(lookups.loadCertificate);
  return async (id) => {
    const stored = await loadSealed(id);
    if (stored === null) return null;
    return { chain: stored.chain, key: vault.open(stored.sealedKey, sealOf(id)) };
  };
}

/** By ID. Missing certificates are not cached. */
export function keepCertificates(
  load: (certificateId: string) => Promise<Sealed | null>,
): (certificateId: string) => Promise<Sealed | null> {
  const kept = new LRUCache<string, Sealed>({
    maxSize: BYTES_MAX,
    sizeCalculation: ({ chain, sealedKey }) => chain.length + sealedKey.byteLength,
  });
  return loadOnce(kept, load);
}
