/**
 * A server that has been silent several times is left alone for a while: asking on would load it, and whatever hears
 * it, for nothing (RFC 9520, 2.3 and 3.2). The state machine is pure; `createCircuits` keeps one for each server.
 */
import { LRUCache } from 'lru-cache';

/** `closed`: it is asked; `timeouts` in a row so far. `open`: not before `until`. `probing`: one question is under way. */
export type Circuit =
  | { readonly kind: 'closed'; readonly timeouts: number }
  | { readonly kind: 'open'; readonly until: number; readonly openMs: number }
  | { readonly kind: 'probing'; readonly openMs: number };

/** What comes of a question: any answer, even an unreadable one; silence; or nothing, because we ourselves gave up. */
export type Outcome = 'answer' | 'silence' | 'nothing';

export const circuitLimits = {
  /** Each is two datagrams (wire.ts), so six in a row are lost: on a path that loses one in ten, once in a million. Our choice. */
  timeouts: 3,
  /** As long as a customer who is watching can bear. Our choice. */
  openMs: 30_000,
  /** Failures "MUST NOT be cached for longer than 5 minutes" (RFC 9520, 3.2). */
  openMsMax: 5 * 60_000,
} as const;

/** Of a server that nothing bad is known of. */
export const closed: Circuit = { kind: 'closed', timeouts: 0 };

/** Whether a question may be sent at `now`, in milliseconds on any steady clock. */
export function admits(circuit: Circuit, now: number): boolean {
  return circuit.kind === 'closed' || (circuit.kind === 'open' && now >= circuit.until);
}

/** After a question that was admitted has been sent: the first one after a pause is the only one for now. */
export function afterSending(circuit: Circuit): Circuit {
  return circuit.kind === 'open' ? { kind: 'probing', openMs: circuit.openMs } : circuit;
}

/** After a question has ended. Each pause is twice as long as the one before it, until an answer comes. */
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

/** By any key that stands for a server. */
export type Circuits = {
  readonly admits: (key: string) => boolean;
  readonly sent: (key: string) => void;
  readonly ended: (key: string, outcome: Outcome) => void;
};

/** Bounds what zones with many dead servers make us remember; the one unused for longest goes first. */
const CIRCUITS_MAX = 10_000;

/** Only servers that were silent take memory. `now` in milliseconds. */
export function createCircuits(now: () => number): Circuits {
  const troubled = new LRUCache<string, Circuit>({ max: CIRCUITS_MAX });
  const of = (key: string) => troubled.get(key) ?? closed;

  function put(key: string, circuit: Circuit): void {
    if (circuit.kind === 'closed' && circuit.timeouts === 0) troubled.delete(key);
    else troubled.set(key, circuit);
  }

  return {
    admits: (key) => admits(of(key), now()),
    sent: (key) => put(key, afterSending(of(key))),
    ended: (key, outcome) => put(key, afterOutcome(of(key), outcome, now())),
  };
}

function openFor(openMs: number, now: number): Circuit {
  const bounded = Math.min(openMs, circuitLimits.openMsMax);
  return openUntil(now + bounded, bounded);
}

function openUntil(until: number, openMs: number): Circuit {
  return { kind: 'open', until, openMs };
}
