/** What a fault is, and what is seen of it. */
import type { Client } from './load/client.ts';
import type { Ledger } from './load/ledger.ts';
import type { Messages } from './load/receiver.ts';
import type { Random } from './random.ts';
import type { System } from './system/system.ts';

/** What a fault lays hands on; two that share a part are not combined. */
type Part = 'api' | 'worker' | 'edge' | 'postgres' | 'redis' | 'dns' | 'authority' | 'alone';

/** How many requests may fail meanwhile. `503`: answers that say so, no others. */
type Tolerance = {
  readonly api: 'none' | '503' | 'any';
  readonly visitors: 'none' | 'any';
};

export type World = {
  readonly system: System;
  readonly client: Client;
  readonly ledger: Ledger;
  readonly messages: Messages;
  /** Domains that are live while nothing is wrong. */
  readonly live: readonly string[];
  /** Domains whose record is missing. */
  readonly pending: readonly string[];
  readonly random: Random;
  /** Where logs are kept. */
  readonly folder: string;
};

/** What a fault has seen by itself, beside what is checked after each of them. */
export type Seen = {
  /** Words with figures, for the report. */
  readonly seen?: readonly string[];
  /** Figures that were not reached: told, no failure. */
  readonly slow?: readonly string[];
  /** What must not be: a failure. */
  readonly wrong?: readonly string[];
};

export type Fault = {
  readonly name: string;
  /** What is done, in a sentence without its subject. */
  readonly what: string;
  /** When it counts as passed, with the figure. */
  readonly pass: string;
  /** About how long the fault itself takes. */
  readonly seconds: number;
  readonly parts: readonly Part[];
  readonly tolerance: Tolerance;
  /** Until everything works again; the figure wanted, reported beside the one seen. */
  readonly recoverySeconds: number;
  /** An order may have been placed by a process that could not write that down any more. */
  readonly mayLoseOrders?: true;
  /** By how much the caches of a worker may fill, in MB of heap: they have ends, and stay full afterwards. */
  readonly fillsCachesMb?: number;
  /** A reason for which it cannot be run on this machine. */
  readonly cannotRun?: (system: System) => string | null;
  /** Brings it about, and takes it back. */
  readonly inject: (world: World) => Promise<Seen>;
};

const strictness = { none: 0, '503': 1, any: 2 } as const;

/** Two at a time: both are brought about together, and what either may do is allowed. */
export function combine(one: Fault, other: Fault): Fault {
  const api = (['none', '503', 'any'] as const).find(
    (each) =>
      strictness[each] === Math.max(strictness[one.tolerance.api], strictness[other.tolerance.api]),
  );
  const visitors = [one, other].some(({ tolerance }) => tolerance.visitors === 'any');
  return {
    name: `${one.name}+${other.name}`,
    what: `${one.what}; and ${other.what}`,
    pass: 'the invariants hold, and everything works again',
    seconds: Math.max(one.seconds, other.seconds),
    parts: [...one.parts, ...other.parts],
    tolerance: { api: api ?? 'any', visitors: visitors ? 'any' : 'none' },
    recoverySeconds: one.recoverySeconds + other.recoverySeconds,
    ...((one.mayLoseOrders || other.mayLoseOrders) && { mayLoseOrders: true }),
    cannotRun: (system) => one.cannotRun?.(system) ?? other.cannotRun?.(system) ?? null,
    async inject(world) {
      const [first, second] = await Promise.all([one.inject(world), other.inject(world)]);
      // Their figures are those of one fault alone.
      return {
        seen: [...(first.seen ?? []), ...(second.seen ?? [])],
        slow: [],
        wrong: [...(first.wrong ?? []), ...(second.wrong ?? [])],
      };
    },
  };
}

export function canCombine(one: Fault, other: Fault): boolean {
  const all = [...one.parts, ...other.parts];
  return !all.includes('alone') && new Set(all).size === all.length;
}

export function isPair({ name }: Fault): boolean {
  return name.includes('+');
}
