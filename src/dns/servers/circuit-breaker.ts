/**
 * Stops querying a server about a zone for a while after repeated silence, to avoid useless load
 * (RFC 9520, 2.3 and 3.2). Silence about one zone does not affect others, but a server that is
 * silent about several zones in a row is paused completely. The state machine is pure;
 * `createCircuits` keeps one per server and one per zone at a server.
 */
import { LRUCache } from 'lru-cache';

/**
 * The state of a server. `closed`: queried; `timeouts` in a row so far. `open`: not queried before
 * `until`. `probing`: one query is in progress. Times are in milliseconds on the caller's clock.
 */
export type Circuit =
  | { readonly kind: 'closed'; readonly timeouts: number }
  | { readonly kind: 'open'; readonly until: number; readonly openMs: number }
  | { readonly kind: 'probing'; readonly openMs: number };

/**
 * The result of a query: any answer, even a malformed one; silence; or nothing, because our own
 * limits stopped it.
 */
export type QueryOutcome = 'answer' | 'silence' | 'nothing';

/** When a server is paused, and for how long. */
const circuitLimits = {
  /**
   * Each query sends two datagrams (wire.ts), so six in a row are lost: on a path with 10 % loss,
   * once in a million.
   */
  timeouts: 3,
  /** Short enough for a customer who is watching. */
  openMs: 30_000,
  /** Failures "MUST NOT be cached for longer than 5 minutes" (RFC 9520, 3.2). */
  openMsMax: 5 * 60_000,
} as const;

/** The state of a server without known problems. */
export const closed: Circuit = { kind: 'closed', timeouts: 0 };

/** Whether a query can be sent at `now`, in milliseconds on a monotonic clock. */
export function admits(circuit: Circuit, now: number): boolean {
  return circuit.kind === 'closed' || (circuit.kind === 'open' && now >= circuit.until);
}

/** The state after an admitted query was sent: after a pause, only one probe runs at a time. */
export function afterSending(circuit: Circuit): Circuit {
  return circuit.kind === 'open' ? { kind: 'probing', openMs: circuit.openMs } : circuit;
}

/**
 * The state after a query ended. Each pause is twice as long as the previous one, up to 5 minutes,
 * until an answer arrives.
 */
export function afterOutcome(circuit: Circuit, outcome: QueryOutcome, now: number): Circuit {
  if (outcome === 'answer') return closed;
  // From a query sent before the pause.
  if (circuit.kind === 'open') return circuit;
  if (outcome === 'nothing') {
    // The next query is the probe.
    return circuit.kind === 'probing' ? openUntil(now, circuit.openMs) : circuit;
  }
  if (circuit.kind === 'probing') return openFor(2 * circuit.openMs, now);
  const timeouts = circuit.timeouts + 1;
  return timeouts < circuitLimits.timeouts
    ? { kind: 'closed', timeouts }
    : openFor(circuitLimits.openMs, now);
}

/** The circuits of all servers. `server` is any key that identifies one. */
export type Circuits = {
  /** Whether the server can be queried about the zone now. Changes nothing. */
  readonly admits: (server: string, zone: string) => boolean;
  /** Call it when an admitted query is sent, and `ended` once for each. */
  readonly sent: (server: string, zone: string) => void;
  readonly ended: (server: string, zone: string, outcome: QueryOutcome) => void;
};

/** Bounds memory under zones with many dead servers; least recently used entries are dropped. */
const CIRCUITS_MAX = 10_000;
/** No host name is longer; for escaped names, the end suffices. */
const ZONE_CHARS = 255;

/**
 * The overall state of a server. Its circuit counts zones (`zones`); the circuit of a zone counts
 * queries.
 */
type Trouble = { readonly circuit: Circuit; readonly zones: readonly string[] };

/** Stores only silent servers, at most 10,000 servers and zones. `now` in milliseconds. */
export function createCircuits(now: () => number): Circuits {
  const zones = new LRUCache<string, Circuit>({ max: CIRCUITS_MAX });
  const servers = new LRUCache<string, Trouble>({ max: CIRCUITS_MAX });

  function putZone(key: string, circuit: Circuit): void {
    if (isWell(circuit)) zones.delete(key);
    else zones.set(key, circuit);
  }

  function endedAt(server: string, zone: string, outcome: QueryOutcome): void {
    const { circuit, zones: silent } = servers.get(server) ?? { circuit: closed, zones: [] };
    const after = afterOutcome(circuit, outcome, now());
    if (isWell(after)) servers.delete(server);
    else if (circuit.kind !== 'closed') servers.set(server, { circuit: after, zones: silent });
    else if (outcome === 'silence' && !silent.includes(zone)) {
      servers.set(server, { circuit: after, zones: [...silent, zone] });
    }
  }

  return {
    admits: (server, zone) =>
      admits(servers.get(server)?.circuit ?? closed, now()) &&
      admits(zones.get(keyOf(server, zone)) ?? closed, now()),
    sent(server, zone) {
      const key = keyOf(server, zone);
      const [trouble, circuit] = [servers.get(server), zones.get(key)];
      if (trouble) servers.set(server, { ...trouble, circuit: afterSending(trouble.circuit) });
      if (circuit) zones.set(key, afterSending(circuit));
    },
    ended(server, zone, outcome) {
      const key = keyOf(server, zone);
      putZone(key, afterOutcome(zones.get(key) ?? closed, outcome, now()));
      endedAt(server, zone.slice(-ZONE_CHARS), outcome);
    },
  };
}

function keyOf(server: string, zone: string): string {
  return `${server} ${zone.slice(-ZONE_CHARS)}`;
}

function isWell(circuit: Circuit): boolean {
  return circuit.kind === 'closed' && circuit.timeouts === 0;
}

function openFor(openMs: number, now: number): Circuit {
  const bounded = Math.min(openMs, circuitLimits.openMsMax);
  return openUntil(now + bounded, bounded);
}

function openUntil(until: number, openMs: number): Circuit {
  return { kind: 'open', until, openMs };
}
