import { createKeyedCount } from '../net/keyed-count.ts';

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
  // With routeFreshMs and half a second for the lookup, a removal takes effect within 5 s.
  recheckMs: 1_000,
  routeFreshMs: 3_000,
  routePatienceMs: 1_500,
  routeRetryMs: 1_000,
};

// Limits concurrent requests to deploys. Each uses its own connection.

export type RequestLimitRules = {
  readonly total: number;
  readonly perProject: number;
};

export type RequestLimit = {
  /** Returns an idempotent release function, or the limit that is reached. */
  readonly admit: (projectId: string) => (() => void) | 'project' | 'total';
};

/** Counts for one process. Checks the project's limit first. */
export function createRequestLimit({ total, perProject }: RequestLimitRules): RequestLimit {
  const requests = createKeyedCount({ total, perKey: perProject });
  return {
    admit(projectId) {
      const admitted = requests.admit(projectId);
      return admitted === 'key' ? 'project' : admitted;
    },
  };
}
