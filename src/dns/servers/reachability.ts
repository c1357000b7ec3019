/**
 * Whether port 53 is blocked for this process, as in many offices, hotels and containers. Then no silence says anything
 * about a customer's name servers, and the configured recursive servers are all there is to ask.
 */

/** What this process knows of port 53. No call waits for anything. */
export type Reachability = {
  /**
   * Reports what became of a question to an authority, by its name. `answered` is true for any reply, also an unreadable
   * one. Questions that our own limits cut short are not to be reported.
   */
  readonly note: (server: string, answered: boolean) => void;
  /** Whether no silence says anything at the moment. */
  readonly isBlocked: () => boolean;
  /**
   * Whether a check may ask authorities: always while nothing is blocked, else one check a minute. Who gets true has
   * that turn, and asks.
   */
  readonly mayProbe: () => boolean;
};

/** From when on port 53 counts as blocked, and how often it is tried nevertheless. */
export const reachabilityLimits = {
  /**
   * Most zones have two servers, so three silent ones, whatever addresses each of them has, are hardly one customer's
   * fault alone. Our choice.
   */
  servers: 3,
  /**
   * A restarting router or a route that changes is silent for less. Four checks a new domain fit in
   * (core/life/ladder.ts). Our choice.
   */
  silentMs: 60_000,
  /** A blocked check that asks after all is slow, and one is enough to see that the block is gone. Our choice. */
  probeMs: 60_000,
} as const;

/** What is known since the last answer: who was silent (no more of them than are needed) and since when. */
type Silence = { readonly servers: Set<string>; since: number };

/**
 * Blocked: since the last answer of any authority at least three servers were silent, the first of them 60 s ago or
 * more. In a process that no authority has ever answered, three are enough. One answer clears it. `now` in milliseconds.
 */
export function createReachability({
  now = () => performance.now(),
}: {
  readonly now?: () => number;
} = {}): Reachability {
  const silence: Silence = { servers: new Set(), since: 0 };
  let everAnswered = false;
  let nextProbeAt = Number.NEGATIVE_INFINITY;

  function note(server: string, answered: boolean): void {
    if (answered) {
      everAnswered = true;
      nextProbeAt = Number.NEGATIVE_INFINITY;
      if (silence.servers.size > 0) silence.servers.clear();
      return;
    }
    // Not since the last answer: where nobody was asked for an hour, nobody could answer.
    if (silence.servers.size === 0) silence.since = now();
    if (silence.servers.size < reachabilityLimits.servers) silence.servers.add(server);
  }

  function isBlocked(): boolean {
    if (silence.servers.size < reachabilityLimits.servers) return false;
    return !everAnswered || now() - silence.since >= reachabilityLimits.silentMs;
  }

  function mayProbe(): boolean {
    if (!isBlocked()) return true;
    if (now() < nextProbeAt) return false;
    nextProbeAt = now() + reachabilityLimits.probeMs;
    return true;
  }

  return { note, isBlocked, mayProbe };
}
