/** What the edge asks of the rest of the system. */
import type { Logger } from 'pino';
import type { EdgeCertificate } from '../certificates/served/proof-certificate.ts';
import type { TicketKeys } from '../certificates/vault/derived-secrets.ts';
import type { EdgeRoute } from '../core/operations/edge-route.ts';
import type { UpstreamReach } from '../net/upstream-reach.ts';
import type { EdgeCounters } from '../ops/metrics/traffic.ts';
import type { SigningKey } from './proxy/signature.ts';
import type { RequestLimitRules } from './request-limit.ts';
import type { VisitorRules } from './visitor-limits.ts';

/** What the edge asks of the rest of the system. What may reject says so; nothing else does. */
export type EdgeDeps = {
  /**
   * The key authorization to answer (RFC 8555, 8.3), only for the host name that the token was made for. This and the next
   * are asked for names that are held, and for no others.
   */
  readonly findChallenge: (token: string, hostname: string) => Promise<string | null>;
  /**
   * The certificate that answers the name's open tls-alpn-01 challenge (RFC 8737, 3), or where a token is given the probe
   * of ours that it belongs to; null: there is none such. Null instead of it: names are not proved in this way, and no
   * connection is read for it.
   */
  readonly findChallengeCertificate:
    | ((hostname: string, probeToken: string | null) => Promise<EdgeCertificate | null>)
    | null;
  /**
   * Null: unknown, removed, or not held. What it answers is remembered, and counts for 3 s; for longer while the edge
   * hears of changes (Edge.hear), or while this rejects (docs/decisions/0017).
   */
  readonly findRoute: (hostname: string) => Promise<EdgeRoute | null>;
  /** Asked where findRoute rejects or is late: whether nobody could change a route now. Never rejects. */
  readonly isDatabaseAway: () => Promise<boolean>;
  /** What an id stands for never changes: a renewal has an id of its own. Null: there is none such (any more). */
  readonly loadCertificate: (certificateId: string) => Promise<EdgeCertificate | null>;
  /** What signs the requests to deploys. It is asked for each key once, while that is kept. */
  readonly signingKey: SigningKey;
  /** In PEM, what the certificate of this deploy's upstream must lead to; null: there is nothing such (any more). */
  readonly loadUpstreamCa: (deployId: string) => Promise<string | null>;
  /** Any `max` of the names that are held, whose first handshake is prepared for; missing: that of none is. */
  readonly listNames?: (max: number) => Promise<readonly string[]>;
  /** What session tickets are sealed with, the same in every process. */
  readonly ticketKeys: TicketKeys;
  readonly reach: UpstreamReach;
  /** Where Caddy reaches us, and the secret by which we know it; missing: visitors reach us themselves. */
  readonly caddy?: { readonly address: string; readonly port: number; readonly secret: string };
  readonly visitors: VisitorRules;
  readonly requests: RequestLimitRules;
  readonly log: Pick<Logger, 'debug' | 'warn' | 'error'>;
  readonly count?: EdgeCounters;
  /** Shorter in tests. */
  readonly limits?: Partial<EdgeLimits>;
};

/** What a slow or silent peer may cost; in milliseconds, where nothing else is said. */
export type EdgeLimits = {
  /** For the ClientHello, and as long again for the rest of the handshake. */
  readonly handshakeMs: number;
  /** From the first byte of a request, or the opening of a connection, to the end of its headers. */
  readonly headersMs: number;
  /** The same to the end of its body. */
  readonly requestMs: number;
  /** Between two requests on one connection. */
  readonly keepAliveMs: number;
  /** From the last byte of a request that an upstream took to its answer; interim responses are none. */
  readonly firstByteMs: number;
  /** Silence within an answer; event streams send a comment more often. */
  readonly silenceMs: number;
  /** Within this time a visitor for whom something waits takes `readBytesMin` of it. */
  readonly readMs: number;
  /** In bytes. */
  readonly readBytesMin: number;
  /** Bytes that wait for all visitors together; beyond it the connections that hold the most are ended. */
  readonly heldBytesMax: number;
  /** Between two counts of those bytes. */
  readonly heldCheckMs: number;
  /** Silence of a WebSocket, both ways. */
  readonly webSocketSilenceMs: number;
  /** Between two checks of the routes of the names that have open connections; mostly from memory. */
  readonly recheckMs: number;
  /** How long a route counts after the last moment at which it is known to have been right. */
  readonly routeFreshMs: number;
  /** How long a visitor waits for the database where a route is known from before. */
  readonly routePatienceMs: number;
  /** Between two look-ups while the database cannot be asked. */
  readonly routeRetryMs: number;
};

/** The limits of an edge that faces the internet. */
export const edgeLimits: EdgeLimits = {
  handshakeMs: 10_000,
  headersMs: 10_000,
  requestMs: 300_000,
  keepAliveMs: 15_000,
  firstByteMs: 30_000,
  silenceMs: 120_000,
  // Our choice: 1 KiB/s, what one slot of GPRS gives at its worst (CS-1, 9.05 kbit/s; phones use several). Over as long a
  // time as silence may last, because what is taken shows in leaps: where the send buffer has grown, of a megabyte and more.
  readMs: 120_000,
  readBytesMin: 122_880,
  // Our choice: 2,000 visitors who take nothing, at the 128 KiB that a stream and its socket hold of an answer.
  heldBytesMax: 268_435_456,
  heldCheckMs: 1_000,
  // Our choice: many times the heartbeat of the usual libraries (socket.io 25 s, Phoenix 30 s).
  webSocketSilenceMs: 600_000,
  // With routeFreshMs and half a second for the look-up not more than the 5 s that a removal may take at most.
  recheckMs: 1_000,
  routeFreshMs: 3_000,
  routePatienceMs: 1_500,
  routeRetryMs: 1_000,
};
