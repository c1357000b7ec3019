/**
 * For slow or silent peers of an edge on the public internet; in milliseconds unless stated otherwise.
 */
export const edgeLimits = {
  /** For the ClientHello, and again for the rest of the handshake. */
  handshakeMs: 10_000,
  /** From a request's first byte, or from opening the connection, to the end of its headers. */
  headersMs: 10_000,
  /** The same, to the end of its body. */
  requestMs: 300_000,
  /** Between two requests on one connection. */
  keepAliveMs: 15_000,
  /** From the last byte that the upstream read to its final response (not interim ones). */
  firstByteMs: 30_000,
  /** Silence within a response; event streams send comments more often. */
  silenceMs: 120_000,
  /** A visitor with pending data must read `readBytesMin` within this time. */
  // 1 KiB/s, the worst speed of one GPRS slot. Progress shows only in steps of the send buffer.
  readMs: 120_000,
  /** In bytes. */
  readBytesMin: 122_880,
  /** Bytes waiting for all visitors. Above it, the connections with the most are closed. */
  // 2,000 visitors who read nothing, with 128 KiB each (stream and socket buffer).
  heldBytesMax: 268_435_456,
  /** Between two counts of those bytes. */
  heldCheckMs: 1_000,
  /** Silence of a WebSocket in both directions. */
  // Many times the heartbeat of common libraries (socket.io 25 s, Phoenix 30 s).
  webSocketSilenceMs: 600_000,
  /** Between two checks of the routes of all open connections, mostly from memory. */
  // With routeFreshMs and half a second for the lookup, a removal takes effect within 5 s.
  recheckMs: 1_000,
  /** How long a route stays valid after it was last confirmed. */
  routeFreshMs: 3_000,
  /** How long a visitor waits for the database if a cached route exists. */
  routePatienceMs: 1_500,
  /** Between two lookups while the database is unavailable. */
  routeRetryMs: 1_000,
};

export type EdgeLimits = Readonly<typeof edgeLimits>;
