/** Dependencies of the edge. */
import type { Logger } from 'pino';
import type { EdgeCertificate } from '../certificates/served/proof-certificate.ts';
import type { TicketKeys } from '../certificates/vault/derived-secrets.ts';
import type { EdgeRoute } from '../core/operations/edge-route.ts';
import type { EdgeCounters } from '../ops/metrics/traffic.ts';
import type { SigningKey } from './proxy/signature.ts';
import type { UpstreamReach } from './proxy/upstream.ts';
import type { RequestLimitRules } from './request-limit.ts';
import type { VisitorRules } from './visitor-limits.ts';

/** Dependencies of the edge. They only reject where documented. */
export type EdgeDeps = {
  /**
   * The key authorization for a token (RFC 8555, 8.3), only for the host name of the token. This
   * and the next are only called for held names.
   */
  readonly findChallenge: (token: string, hostname: string) => Promise<string | null>;
  /**
   * The certificate for the name's open tls-alpn-01 challenge (RFC 8737, 3), or with a token for
   * the probe that it belongs to; null: there is none. If the field itself is null, tls-alpn-01 is
   * off and connections are not inspected.
   */
  readonly findChallengeCertificate:
    | ((hostname: string, probeToken: string | null) => Promise<EdgeCertificate | null>)
    | null;
  /**
   * Null: unknown, removed, or not held. Results are cached for 3 s, or longer while change
   * notifications arrive (Edge.notify) or while this rejects (docs/decisions/0017).
   */
  readonly findRoute: (hostname: string) => Promise<EdgeRoute | null>;
  /**
   * Called if findRoute rejects or is late: whether the database is down, so that no route can have
   * changed. Never rejects.
   */
  readonly isDatabaseAway: () => Promise<boolean>;
  /** A certificate never changes: a renewal has a new ID. Null: it does not exist (anymore). */
  readonly loadCertificate: (certificateId: string) => Promise<EdgeCertificate | null>;
  /** Signs requests to deploys. Called once per key while the key is cached. */
  readonly signingKey: SigningKey;
  /** The CA certificates in PEM for this deploy's upstream; null: there are none (anymore). */
  readonly loadUpstreamCa: (deployId: string) => Promise<string | null>;
  /** Up to `max` held names to prepare first handshakes for. Missing: no preparation. */
  readonly listNames?: (max: number) => Promise<readonly string[]>;
  /** Keys of session tickets, shared by all processes. */
  readonly ticketKeys: TicketKeys;
  readonly reach: UpstreamReach;
  /** Where Caddy reaches the edge, and its secret. Missing: visitors connect directly. */
  readonly caddy?: { readonly address: string; readonly port: number; readonly secret: string };
  readonly visitors: VisitorRules;
  readonly requests: RequestLimitRules;
  readonly log: Pick<Logger, 'debug' | 'warn' | 'error'>;
  readonly count?: EdgeCounters;
  /** Shorter in tests. */
  readonly limits?: Partial<EdgeLimits>;
};

/** Limits for slow or silent peers, in milliseconds unless stated otherwise. */
export type EdgeLimits = {
  /** For the ClientHello, and again for the rest of the handshake. */
  readonly handshakeMs: number;
  /**
   * From the first byte of a request, or from opening the connection, to the end of its headers.
   */
  readonly headersMs: number;
  /** The same, to the end of its body. */
  readonly requestMs: number;
  /** Between two requests on one connection. */
  readonly keepAliveMs: number;
  /**
   * From the last request byte that the upstream read to its final response; interim responses do
   * not count.
   */
  readonly firstByteMs: number;
  /** Silence within a response; event streams send comments more often. */
  readonly silenceMs: number;
  /** A visitor with pending data must read `readBytesMin` within this time. */
  readonly readMs: number;
  /** In bytes. */
  readonly readBytesMin: number;
  /**
   * Bytes waiting for all visitors together. Above it, the connections with the most pending data
   * are closed.
   */
  readonly heldBytesMax: number;
  /** Between two counts of those bytes. */
  readonly heldCheckMs: number;
  /** Silence of a WebSocket in both directions. */
  readonly webSocketSilenceMs: number;
  /** Between two checks of the routes of all open connections, mostly from memory. */
  readonly recheckMs: number;
  /** How long a route stays valid after it was last confirmed. */
  readonly routeFreshMs: number;
  /** How long a visitor waits for the database if a cached route exists. */
  readonly routePatienceMs: number;
  /** Between two lookups while the database is unavailable. */
  readonly routeRetryMs: number;
};

/** The limits of an edge on the public internet. */
export const edgeLimits: EdgeLimits = {
  handshakeMs: 10_000,
  headersMs: 10_000,
  requestMs: 300_000,
  keepAliveMs: 15_000,
  firstByteMs: 30_000,
  silenceMs: 120_000,
  // 1 KiB/s: the worst speed of one GPRS slot (CS-1, 9.05 kbit/s; phones use several). Measured
  // over the allowed silence, because progress is visible only in steps of the send buffer, which
  // can be over a megabyte.
  readMs: 120_000,
  readBytesMin: 122_880,
  // 2,000 visitors who read nothing, at the 128 KiB that a stream and its socket buffer per
  // response.
  heldBytesMax: 268_435_456,
  heldCheckMs: 1_000,
  // Many times the heartbeat of common libraries (socket.io 25 s, Phoenix 30 s).
  webSocketSilenceMs: 600_000,
  // Together with routeFreshMs and half a second for the lookup, at most the 5 s that a removal
  // can take.
  recheckMs: 1_000,
  routeFreshMs: 3_000,
  routePatienceMs: 1_500,
  routeRetryMs: 1_000,
};
