/** Pauses a server after repeated silence, per zone and completely (RFC 9520, 2.3 and 3.2). */

import { LRUCache } from 'lru-cache';
import { MINUTE } from '../../core/time.ts';

/**
 * `timeouts`: in a row. `open`: not queried before `until`. `probing`: one query is in progress.
 * Milliseconds on the caller's clock.
 */
export type Circuit =
  | { readonly kind: 'closed'; readonly timeouts: number }
  | { readonly kind: 'open'; readonly until: number; readonly openMs: number }
  | { readonly kind: 'probing'; readonly openMs: number };

/** `answer`: any, even a malformed one. `nothing`: our own limits stopped the query. */
export type QueryOutcome = 'answer' | 'silence' | 'nothing';

const circuitLimits = {
  /** Two datagrams each: with 10 % loss, all six are lost once in a million. */
  timeouts: 3,
  /** Short enough for a customer who is watching. */
  openMs: 30_000,
  /** Failures "MUST NOT be cached for longer than 5 minutes" (RFC 9520, 3.2). */
  openMsMax: 5 * MINUTE,
} as const;

export const closed: Circuit = { kind: 'closed', timeouts: 0 };

/** `now`: monotonic milliseconds. */
export function admits(circuit: Circuit, now: number): boolean {
  return circuit.kind === 'closed' || (circuit.kind === 'open' && now >= circuit.until);
}

/** After a pause, only one probe runs at a time. */
export function afterSending(circuit: Circuit): Circuit {
  return circuit.kind === 'open' ? { kind: 'probing', openMs: circuit.openMs } : circuit;
}

/** Each pause is twice as long as the previous one, up to 5 minutes, until an answer arrives. */
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

/** `server`: any key that identifies one. */
export type Circuits = {
  /** Changes nothing. */
  readonly admits: (server: string, zone: string) => boolean;
  /** Call it when an admitted query is sent, and `ended` once for each. */
  readonly sent: (server: string, zone: string) => void;
  readonly ended: (server: string, zone: string, outcome: QueryOutcome) => void;
};

/** Bounds memory under zones with many dead servers. */
const CIRCUITS_MAX = 10_000;
/** No host name is longer; for escaped names, the end suffices. */
const ZONE_CHARS = 255;

/** The server's own circuit counts zones (`zones`); the circuit of a zone counts queries. */
type CircuitTrouble = { readonly circuit: Circuit; readonly zones: readonly string[] };

/** Stores only silent servers. `now`: milliseconds. */
export function createCircuits(now: () => number): Circuits {
  const zones = new LRUCache<string, Circuit>({ max: CIRCUITS_MAX });
  const servers = new LRUCache<string, CircuitTrouble>({ max: CIRCUITS_MAX });

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
