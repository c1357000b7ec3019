/** What the edge asks of the rest of the system. */
import type { Logger } from 'pino';

export type EdgeRoute = {
  readonly hostname: string;
  /** An http or https URL; a path in it is put before the request's. Null: nothing is deployed. */
  readonly upstream: string | null;
  /** Null: no certificate yet. */
  readonly certificateId: string | null;
};

export type EdgeCertificate = {
  /** PEM, the leaf first. */
  readonly chain: string;
  /** PKCS#8 PEM, opened. */
  readonly key: string;
};

export type EdgeDeps = {
  /** The key authorization to answer (RFC 8555, 8.3), only for the host name that the token was made for. */
  readonly findChallenge: (token: string, hostname: string) => Promise<string | null>;
  /**
   * Null: unknown, removed, or not held. Asked at every handshake and request and never remembered, so that a removed
   * domain's traffic stops with the next request; asked again every second while connections to a name are open, so
   * that what is under way stops, too.
   */
  readonly findRoute: (hostname: string) => Promise<EdgeRoute | null>;
  /** What an id stands for never changes: a renewal has an id of its own. Null: there is none such (any more). */
  readonly loadCertificate: (certificateId: string) => Promise<EdgeCertificate | null>;
  readonly log: Pick<Logger, 'debug' | 'warn' | 'error'>;
  /** Shorter in tests. */
  readonly limits?: Partial<EdgeLimits>;
};

/** In milliseconds; what a slow or silent peer may cost. */
export type EdgeLimits = {
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
  /** Between two looks at the routes of the names that have open connections. */
  readonly recheckMs: number;
};

export const edgeLimits: EdgeLimits = {
  handshakeMs: 10_000,
  headersMs: 10_000,
  requestMs: 300_000,
  keepAliveMs: 15_000,
  firstByteMs: 30_000,
  silenceMs: 120_000,
  recheckMs: 1_000,
};
