/** How many file descriptors a process may have open, and for what, so that no kind of peer takes all of them. */
import { readFileSync } from 'node:fs';

/**
 * The soft limit of this process (RLIMIT_NOFILE), which Node.js raises to the hard one when it starts. Infinity where it is
 * unlimited or cannot be read: only Linux shows it as a file.
 */
export function descriptorLimit(): number {
  try {
    const [, soft] =
      /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/** Descriptors for each kind of peer. What is in none of them is the reserve. */
export type DescriptorShares = {
  readonly visitors: number;
  readonly upstreams: number;
  readonly api: number;
};

/** Our choice: PostgreSQL, Redis, name servers and files of a process with every role; a quarter of a small limit. */
const RESERVE_MAX = 1_024;

/**
 * Divides what a reserve leaves: a visitor may need an upstream, and the API has fewer clients than the edge has visitors.
 */
export function shareDescriptors(limit: number): DescriptorShares {
  const left = limit - Math.min(RESERVE_MAX, limit / 4);
  return {
    visitors: Math.floor(left * 0.45),
    upstreams: Math.floor(left * 0.45),
    api: Math.floor(left * 0.1),
  };
}
