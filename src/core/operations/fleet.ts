/** The processes of an installation, and the settings that they share. */
import { SECOND } from '../time.ts';
import { type Role, roleNames } from './roles.ts';

/** Values of shared variables, shown to people, so without secrets. Missing: the role does not use it. */
export type SharedSettings = Readonly<Record<string, string>>;

export const NOT_SET = 'not set';

/** Times are the database's. */
export type FleetProcess = {
  readonly id: string;
  readonly role: Role | 'all';
  readonly host: string;
  readonly pid: number;
  /** `0.2.0`, with the commit where it is known: `0.2.0+1a2b3c4`. */
  readonly version: string;
  readonly settings: SharedSettings;
  readonly startedAt: Date;
  readonly seenAt: Date;
  /** When its Redis last had the installation's mark; null: never, or its queue is not in Redis. */
  readonly queueSeenAt: Date | null;
  /** Its own resolvers or network give its checks no answers. */
  readonly resolversFailing: boolean;
  /** It did not start. */
  readonly isRefused: boolean;
  /** Why it was refused, or what is wrong while it runs. */
  readonly problem: string | null;
};

/** How often a process reports. */
export const BEAT_MS = 10 * SECOND;
/** Without a report for so long, a process is gone. */
export const GONE_MS = 3 * BEAT_MS;

export type SettingDifference = {
  readonly name: string;
  readonly value: string;
  /** Of the installation. */
  readonly current: string;
};

/** Of the settings that both have. Redis can have several names, so its mark is compared instead. */
export function differences(own: SharedSettings, current: SharedSettings): SettingDifference[] {
  return Object.entries(own).flatMap(([name, value]) => {
    const other = current[name];
    const isSame =
      name === 'REDIS_URL' ? (value === NOT_SET) === (other === NOT_SET) : value === other;
    return other === undefined || isSame ? [] : [{ name, value, current: other }];
  });
}

/** Another queue cannot be accepted, because jobs would be split. */
export function isAcceptable({ name }: SettingDifference): boolean {
  return name !== 'REDIS_URL';
}

/** For the log of a refused process and for operators. */
export function refusalWords(differing: readonly SettingDifference[]): string {
  const parts = differing.map(
    ({ name, value, current }) => `${name} is ${value}, but ${current} in this installation`,
  );
  const advice = differing.some(isAcceptable)
    ? 'If the change is intended: signpost fleet accept.'
    : 'To move to another Redis, stop every process first.';
  return `${parts.join('; ')}. Set the same value. ${advice}`;
}

type QueueInput = {
  /** What the Redis of this process carries: an installation and an ID; null: nothing. */
  readonly mark: string | null;
  readonly installation: string;
  /** Of the installation's Redis, as the database has it; null: none yet. */
  readonly queueId: string | null;
  /** What this process found there before; null: nothing. */
  readonly knownId: string | null;
  /** Another process that runs has found its mark; its Redis can be down now. */
  readonly isUsed: boolean;
};

/**
 * Whose queue is in a Redis. Comparing URLs would reject one Redis under two names, and accept `localhost` on two
 * machines. `emptied`, `waits`: it lost the mark, which this process or another one restores. `free`: it can become
 * the installation's, with a new ID, so that a Redis that was used earlier is recognized.
 */
export function queueState({ mark, installation, queueId, knownId, isUsed }: QueueInput) {
  if (mark === null) {
    if (knownId !== null && knownId === queueId) return 'emptied';
    return isUsed ? 'waits' : 'free';
  }
  const [owner, id] = mark.split(' ');
  if (owner !== installation) return 'foreign';
  if (id === queueId) return 'ours';
  return isUsed ? 'other' : 'free';
}

/** `worker on host-a`. */
export function processInWords({ role, host }: Pick<FleetProcess, 'role' | 'host'>): string {
  return role === 'all' ? `the process on ${host}` : `${role} on ${host}`;
}

export type SeenProcess = FleetProcess & {
  readonly state: 'running' | 'gone' | 'refused';
  /** What it sets unlike the installation. */
  readonly differs: readonly SettingDifference[];
  /** It runs, and reports, but its Redis has not answered it for `goneMs`. */
  readonly isCutOff: boolean;
};

/** Newest first. `differs` is empty unless it runs. */
export function seeFleet(
  processes: readonly FleetProcess[],
  current: SharedSettings,
  { now, goneMs }: { readonly now: Date; readonly goneMs: number },
): SeenProcess[] {
  const newest = processes.toSorted((a, b) => b.startedAt.getTime() - a.startedAt.getTime());
  return newest.map((one) => {
    const isGone = now.getTime() - one.seenAt.getTime() >= goneMs;
    const state = one.isRefused ? 'refused' : isGone ? 'gone' : 'running';
    const differs = state === 'running' ? differences(one.settings, current) : [];
    const hasRedis = (one.settings['REDIS_URL'] ?? NOT_SET) !== NOT_SET;
    const silentMs = one.seenAt.getTime() - (one.queueSeenAt ?? one.startedAt).getTime();
    const isCutOff = state === 'running' && !one.problem && hasRedis && silentMs >= goneMs;
    return { ...one, state, differs, isCutOff };
  });
}

/** Those that are gone are no longer a problem. */
export function troubledIn(seen: readonly SeenProcess[]): readonly SeenProcess[] {
  return seen.filter(({ problem, state }) => problem !== null && state !== 'gone');
}

export type FleetCounts = {
  /** Running processes of each role that the installation needs. */
  readonly processes: { readonly [R in Role]?: number };
  /** `refused`: did not start, or use another queue. `differing`: run with older settings. */
  readonly mismatches: { readonly refused: number; readonly differing: number };
};

/** `needed`: the roles without which something stands still. */
export function countFleet(seen: readonly SeenProcess[], needed: readonly Role[]): FleetCounts {
  const running = seen.filter(({ state }) => state === 'running');
  const count = (role: Role) =>
    running.filter((one) => one.role === 'all' || one.role === role).length;
  const roles = roleNames.filter((role) => needed.includes(role));
  return {
    processes: Object.fromEntries(roles.map((role) => [role, count(role)])),
    mismatches: {
      refused: troubledIn(seen).length,
      differing: running.filter(({ differs }) => differs.length > 0).length,
    },
  };
}
