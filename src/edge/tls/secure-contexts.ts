/** Certificates ready for TLS. An id's certificate never changes; which id counts for a name is what its route says. */
import { constants, createHash } from 'node:crypto';
import type { EventEmitter } from 'node:events';
import { createServer, type SecureContext, type Server } from 'node:tls';
import { LRUCache } from 'lru-cache';
import type { EdgeCertificate } from '../../certificates/served/proof-certificate.ts';
import type { EdgeRoute } from '../../core/operations/edge-route.ts';
import type { EdgeDeps, EdgeLimits } from '../deps.ts';

/** How many servers are kept. One with a P-256 chain takes some 45 KiB (measured, Node 20). */
export const SERVERS_MAX = 1_000;

/**
 * TLS 1.2 and newer. For 1.2 the suites of RFC 9325, 4.2 that fit our keys, which are all P-256: forward secrecy and
 * authenticated encryption. For every server alike.
 */
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

/** HTTP/1.1 alone, and no renegotiation: a client could have us calculate again and again on one connection (RFC 9325, 3.5). */
export const visitorsRules = {
  ...tlsRules,
  ALPNProtocols: ['http/1.1'],
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
};

/** What a handshake shows, and for whom. */
export type Site = Pick<EdgeRoute, 'hostname' | 'projectId'> & { readonly certificateId: string };

/** Is given what comes of handshakes, as node:tls emits it: `secureConnection` and `tlsClientError`. */
export type Receiver = Pick<EventEmitter, 'emit'>;

/**
 * The server of a site, which listens nowhere and is given connections by its event `connection`, in the turn of the event
 * loop in which it comes. Null where the certificate is gone; several handshakes at once load it once. Throws what
 * loading throws.
 */
export type FindServer = (site: Site) => Promise<Server | null>;

type ServersDeps = Pick<EdgeDeps, 'loadCertificate' | 'ticketKeys'> &
  Pick<EdgeLimits, 'handshakeMs'> & { readonly receiver: Receiver };

/** A server with a certificate of its own for each site, because that decides whose sessions it resumes. `keptMax`: fewer in tests. */
export function createTlsServers(deps: ServersDeps, keptMax: number = SERVERS_MAX): FindServer {
  const kept = new LRUCache<string, Made>({ max: keptMax, dispose: letGo });
  const find = loadOnce(
    kept,
    async (site: Site) => {
      const certificate = await deps.loadCertificate(site.certificateId);
      return certificate === null ? null : make(site, certificate, deps);
    },
    nameOf,
  );
  return async (site) => {
    const made = await find(site);
    if (made === null) return null;
    const keys = deps.ticketKeys();
    if (made.keys !== keys) made.server.setTicketKeys(keys);
    made.keys = keys;
    return made.server;
  };
}

type Made = { readonly server: Server; keys: Buffer };

function make(
  site: Site,
  { chain, key }: EdgeCertificate,
  { receiver, handshakeMs, ticketKeys }: ServersDeps,
): Made {
  const keys = ticketKeys();
  try {
    const server = createServer({
      ...visitorsRules,
      cert: chain,
      key,
      ca: [], // visitors show no certificates
      handshakeTimeout: handshakeMs,
      ticketKeys: keys,
      sessionTimeout: SESSION_SECONDS,
      sessionIdContext: sessionContext(site),
    });
    server.on('secureConnection', (connection) => {
      // Of a resumed TLS 1.2 session Node does not know it. It is the name that this server was found for.
      Object.assign(connection, { servername: site.hostname });
      receiver.emit('secureConnection', connection);
    });
    server.on('tlsClientError', (...fault) => receiver.emit('tlsClientError', ...fault));
    return { server, keys };
  } finally {
    if (typeof key !== 'string') key.fill(0); // OpenSSL has its own
  }
}

/** As long as ticket keys count at most (src/certificates/vault/derived-secrets.ts). */
const SESSION_SECONDS = 12 * 3_600;
/** SSL_MAX_SID_CTX_LENGTH. */
const SESSION_CONTEXT_BYTES = 32;

/**
 * OpenSSL resumes a session only in the context that it began in, and makes a whole handshake otherwise
 * (SSL_CTX_set_session_id_context(3)): the same name, held by the same project, with the same certificate.
 */
function sessionContext(site: Site): string {
  const hash = createHash('sha256').update(nameOf(site)).digest('base64url');
  return hash.slice(0, SESSION_CONTEXT_BYTES);
}

/** None of the three has a space in it. */
function nameOf({ hostname, projectId, certificateId }: Site): string {
  return `${hostname} ${projectId} ${certificateId}`;
}

/**
 * Frees what OpenSSL holds for a server, as Node does with a context of a single connection (lib/_tls_wrap.js). V8 hardly
 * knows its size, and would leave thousands of them, for hundreds of megabytes. Connections that use it hold it on their own;
 * whoever has just been given it comes first.
 */
function letGo({ server }: Made): void {
  const { context } = contextOf(server);
  setImmediate(() => context.close?.());
}

/** A property that @types/node leaves out. */
function contextOf(server: Server): SecureContext {
  return (server as unknown as { readonly _sharedCreds: SecureContext })._sharedCreds;
}

type Sealed = { readonly chain: string; readonly sealedKey: Uint8Array };

/** Some 20,000 of Let's Encrypt's, at 3 KiB. */
const BYTES_MAX = 64 * 1024 * 1024;

/** Loads as `load` does, and each id once while it is kept. What is not there is not kept, and asked for again. */
export function keepCertificates(
  load: (certificateId: string) => Promise<Sealed | null>,
): (certificateId: string) => Promise<Sealed | null> {
  const kept = new LRUCache<string, Sealed>({
    maxSize: BYTES_MAX,
    sizeCalculation: ({ chain, sealedKey }) => chain.length + sealedKey.byteLength,
  });
  return loadOnce(kept, load);
}

/**
 * The value of what is asked for, by its name: from `kept`, from a load that is under way, or loaded now. Loads under way
 * have no place among what is kept, so that however many there are, none drives out another. What is not there (null) is
 * not kept, and what `load` throws is thrown to everybody who waits.
 */
export function loadOnce<Asked, Value extends object>(
  kept: LRUCache<string, Value>,
  load: (asked: Asked) => Promise<Value | null>,
  nameOf: (asked: Asked) => string = String,
): (asked: Asked) => Promise<Value | null> {
  const underWay = new Map<string, Promise<Value | null>>();

  async function loadAndKeep(name: string, asked: Asked): Promise<Value | null> {
    const value = await load(asked);
    if (value !== null) kept.set(name, value);
    return value;
  }

  return async (asked) => {
    const name = nameOf(asked);
    const found = kept.get(name) ?? underWay.get(name);
    if (found !== undefined) return found;
    const loading = loadAndKeep(name, asked).finally(() => underWay.delete(name));
    underWay.set(name, loading);
    return loading;
  };
}
