/**
 * A server that has been silent several times about a zone is left alone with it for a while: asking on would load it,
 * and the network before it, for nothing (RFC 9520, 2.3 and 3.2). Silence about one zone says nothing of the others,
 * which may be other customers'; a server that is silent about several zones in a row is left alone altogether. The
 * state machine is pure; `createCircuits` keeps one for each server and one for each zone there.
 */
import { LRUCache } from 'lru-cache';

/**
 * What is known of a server. `closed`: it is asked; `timeouts` in a row so far. `open`: not asked before `until`.
 * `probing`: one question is under way. Times are in milliseconds on the clock of the caller.
 */
export type Circuit =
  | { readonly kind: 'closed'; readonly timeouts: number }
  | { readonly kind: 'open'; readonly until: number; readonly openMs: number }
  | { readonly kind: 'probing'; readonly openMs: number };

/** What came of a question: any answer, even an unreadable one; silence; or nothing, because we ourselves gave up. */
export type Outcome = 'answer' | 'silence' | 'nothing';

/** When a server is left alone, and for how long. */
export const circuitLimits = {
  /**
   * Each is two datagrams (wire.ts), so six in a row are lost: on a path that loses one in ten, once in a million. Our
   * choice.
   */
  timeouts: 3,
  /** As long as a customer who is watching can bear. Our choice. */
  openMs: 30_000,
  /** Failures "MUST NOT be cached for longer than 5 minutes" (RFC 9520, 3.2). */
  openMsMax: 5 * 60_000,
} as const;

/** The circuit of a server that nothing bad is known of. */
export const closed: Circuit = { kind: 'closed', timeouts: 0 };

/** Whether a question may be sent at `now`, in milliseconds on any steady clock. */
export function admits(circuit: Circuit, now: number): boolean {
  return circuit.kind === 'closed' || (circuit.kind === 'open' && now >= circuit.until);
}

/** The circuit after an admitted question has been sent: the first one after a pause is the only one for now. */
export function afterSending(circuit: Circuit): Circuit {
  return circuit.kind === 'open' ? { kind: 'probing', openMs: circuit.openMs } : circuit;
}

/**
 * The circuit after a question has ended. Each pause is twice as long as the one before it, up to 5 minutes, until an
 * answer comes.
 */
export function afterOutcome(circuit: Circuit, outcome: Outcome, now: number): Circuit {
  if (outcome === 'answer') return closed;
  // Of a question that was sent before the pause.
  if (circuit.kind === 'open') return circuit;
  if (outcome === 'nothing') {
    // The next one probes.
    return circuit.kind === 'probing' ? openUntil(now, circuit.openMs) : circuit;
  }
  if (circuit.kind === 'probing') return openFor(2 * circuit.openMs, now);
  const timeouts = circuit.timeouts + 1;
  return timeouts < circuitLimits.timeouts
    ? { kind: 'closed', timeouts }
    : openFor(circuitLimits.openMs, now);
}

/** The circuits of all servers. `server` is any key that stands for one. */
export type Circuits = {
  /** Whether the server may be asked about the zone now. Changes nothing. */
  readonly admits: (server: string, zone: string) => boolean;
  /** To be called when an admitted question is sent, and `ended` once for each of them. */
  readonly sent: (server: string, zone: string) => void;
  readonly ended: (server: string, zone: string, outcome: Outcome) => void;
};

/** Bounds what zones with many dead servers make us remember; the one unused for longest goes first. */
const CIRCUITS_MAX = 10_000;
/** No host name is longer; of a name of foreign bytes the end is enough. */
const ZONE_CHARS = 255;

/** A server as a whole: its circuit counts zones, those in `zones`, where a zone's own counts questions. */
type Trouble = { readonly circuit: Circuit; readonly zones: readonly string[] };

/** Remembers only servers that were silent, 10,000 of them and of their zones at most. `now` in milliseconds. */
export function createCircuits(now: () => number): Circuits {
  const zones = new LRUCache<string, Circuit>({ max: CIRCUITS_MAX });
  const servers = new LRUCache<string, Trouble>({ max: CIRCUITS_MAX });

  function putZone(key: string, circuit: Circuit): void {
    if (isWell(circuit)) zones.delete(key);
    else zones.set(key, circuit);
  }

  function endedAt(server: string, zone: string, outcome: Outcome): void {
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
