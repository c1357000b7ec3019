/** Detects whether port 53 is blocked. Then only the configured resolvers can be used. */
import { MINUTE } from '../../core/time.ts';

export type Reachability = {
  /** `answered`: any reply. Do not report queries cut short by our own limits. */
  readonly note: (server: string, answered: boolean) => void;
  /** Whether silence is currently meaningless. */
  readonly isBlocked: () => boolean;
  /** While port 53 is blocked, one check per minute. A caller that gets true must query. */
  readonly mayProbe: () => boolean;
};

const reachabilityLimits = {
  /** Most zones have two servers, so three silent ones are unlikely to be one customer's fault. */
  servers: 3,
  /** Restarting routers and route changes are shorter. */
  silentMs: MINUTE,
  /** Probing while blocked is slow, and one check suffices to detect the end. */
  probeMs: MINUTE,
} as const;

/** Since the last answer. */
type SilentServers = { readonly servers: Set<string>; since: number };

/**
 * Blocked: three servers were silent since the last answer, the first at least 60 s ago. If no
 * server has ever answered, the delay does not apply. `now`: milliseconds.
 */
export function createReachability({
  now = () => performance.now(),
}: {
  readonly now?: () => number;
} = {}): Reachability {
  const silence: SilentServers = { servers: new Set(), since: 0 };
  let everAnswered = false;
  let nextProbeAt = Number.NEGATIVE_INFINITY;

  function note(server: string, answered: boolean): void {
    if (answered) {
      everAnswered = true;
      nextProbeAt = Number.NEGATIVE_INFINITY;
      if (silence.servers.size > 0) silence.servers.clear();
      return;
    }
    // The time starts with the first silent server, because idle time is not silence.
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
