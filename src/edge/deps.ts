import type { Logger } from 'pino';
import type { EdgeCertificate } from '../certificates/served/proof-certificate.ts';
import type { TicketKeys } from '../certificates/vault/derived-secrets.ts';
import type { EdgeRoute } from '../core/operations/edge-route.ts';
import type { EdgeCounters } from '../ops/metrics/traffic.ts';
import type { SigningKey } from './proxy/signature.ts';
import type { UpstreamReach } from './proxy/upstream.ts';
import type { RequestLimitRules } from './request-limit.ts';
import type { VisitorRules } from './visitor-limits.ts';

/** They only reject where documented. */
export type EdgeDeps = {
  /** The response to our own probe, for any name: only we can make its token. Null: not a probe. */
  readonly answerProbe: (token: string, hostname: string) => string | null;
  /** The key authorization of this name's token (RFC 8555, 8.3). Only called for held names. */
  readonly findChallenge: (token: string, hostname: string) => Promise<string | null>;
  /** For tls-alpn-01 (RFC 8737, 3), or for the probe with this token. Null: tls-alpn-01 is off. */
  readonly findChallengeCertificate:
    | ((hostname: string, probeToken: string | null) => Promise<EdgeCertificate | null>)
    | null;
  /** Null: unknown, removed, or not held. Cached (docs/decisions/0017). */
  readonly findRoute: (hostname: string) => Promise<EdgeRoute | null>;
  /** Routes cannot change while the database is down. Never rejects. */
  readonly isDatabaseAway: () => Promise<boolean>;
  /** A certificate never changes: a renewal has a new ID. Null: it does not exist (anymore). */
  readonly loadCertificate: (certificateId: string) => Promise<EdgeCertificate | null>;
  /** Called once per key while the key is cached. */
  readonly signingKey: SigningKey;
  /** CA certificates in PEM for this deploy's upstream; null: it has none (anymore). */
  readonly loadUpstreamCa: (deployId: string) => Promise<string | null>;
  /** Up to `max` held names to prepare first handshakes for. Missing: no preparation. */
  readonly listNames?: (max: number) => Promise<readonly string[]>;
  /** Shared by all processes. */
  readonly ticketKeys: TicketKeys;
  readonly reach: UpstreamReach;
  /** Where Caddy reaches the edge. Missing: visitors connect directly. */
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
  /** From a request's first byte, or from opening the connection, to the end of its headers. */
  readonly headersMs: number;
  /** The same, to the end of its body. */
  readonly requestMs: number;
  /** Between two requests on one connection. */
  readonly keepAliveMs: number;
  /** From the last byte that the upstream read to its final response (not interim ones). */
  readonly firstByteMs: number;
  /** Silence within a response; event streams send comments more often. */
  readonly silenceMs: number;
  /** A visitor with pending data must read `readBytesMin` within this time. */
  readonly readMs: number;
  /** In bytes. */
  readonly readBytesMin: number;
  /** Bytes waiting for all visitors. Above it, the connections with the most are closed. */
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

/** For an edge on the public internet. */
export const edgeLimits: EdgeLimits = {
  handshakeMs: 10_000,
  headersMs: 10_000,
  requestMs: 300_000,
  keepAliveMs: 15_000,
  firstByteMs: 30_000,
  silenceMs: 120_000,
  // 1 KiB/s, the worst speed of one GPRS slot. Progress shows only in steps of the send buffer.
  readMs: 120_000,
  readBytesMin: 122_880,
  // 2,000 visitors who read nothing, with 128 KiB each (stream and socket buffer).
  heldBytesMax: 268_435_456,
  heldCheckMs: 1_000,
  // Many times the heartbeat of common libraries (socket.io 25 s, Phoenix 30 s).
  webSocketSilenceMs: 600_000,
  // Together with routeFreshMs and half a second for the lookup: the 5 s of a removal.
  recheckMs: 1_000,
  routeFreshMs: 3_000,
  routePatienceMs: 1_500,
  routeRetryMs: 1_000,
};
