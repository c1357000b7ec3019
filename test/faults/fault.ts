import type { Role } from '../../src/core/operations/roles.ts';
import type { Client } from './load/client.ts';
import type { Ledger } from './load/ledger.ts';
import type { Messages } from './load/receiver.ts';
import type { Random } from './random.ts';
import type { System } from './system/system.ts';

/** Faults that share a part are not combined. */
type Part = Role | 'postgres' | 'redis' | 'dns' | 'authority' | 'alone';

/** How many requests can fail during the fault. `503`: only those answers. */
type Tolerance = {
  readonly api: 'none' | '503' | 'any';
  readonly visitors: 'none' | 'any';
};

export type World = {
  readonly system: System;
  readonly client: Client;
  readonly ledger: Ledger;
  readonly messages: Messages;
  /** Domains that are live without a fault. */
  readonly live: readonly string[];
  /** Domains with a missing record. */
  readonly pending: readonly string[];
  readonly random: Random;
  readonly folder: string;
};

/** A fault's own observations, in addition to the invariants. */
export type Seen = {
  /** Texts with figures, for the report. */
  readonly seen?: readonly string[];
  /** Missed performance figures: reported, but no failure. */
  readonly slow?: readonly string[];
  /** Failures. */
  readonly wrong?: readonly string[];
};

export type Fault = {
  readonly name: string;
  /** A sentence without its subject. */
  readonly what: string;
  /** The pass criterion with its figure. */
  readonly pass: string;
  readonly seconds: number;
  readonly parts: readonly Part[];
  readonly tolerance: Tolerance;
  /** Target, reported beside the measured time. */
  readonly recoverySeconds: number;
  /** A process may have died before it stored an order that it placed. */
  readonly mayLoseOrders?: true;
  /** By how much worker caches may grow, in MB of heap; they are bounded and stay full. */
  readonly fillsCachesMb?: number;
  /** Why it cannot run on this machine. */
  readonly cannotRun?: (system: System) => string | null;
  readonly inject: (world: World) => Promise<Seen>;
};

const strictness = { none: 0, '503': 1, any: 2 } as const;

/** Injects both together; each one's tolerance applies. */
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
      // Their figures apply to one fault alone.
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
