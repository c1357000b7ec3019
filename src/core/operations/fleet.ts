/** What the processes of an installation must set alike, and whether one more can start. */

import { SECOND } from '../time.ts';
import { type Role, roleNames } from './roles.ts';

/** Variables, and `SCHEMA`: the newest migration that the process knows. */
const sharedSettingNames = [
  'REDIS_URL',
  'ACME_DIRECTORY_URL',
  'ACME_FALLBACK_DIRECTORY_URL',
  'CERTIFICATES',
  'EDGE',
  'PLATFORM_DOMAIN',
  'KEY_ENCRYPTION_KEY',
  'SCHEMA',
] as const;
type SharedSettingName = (typeof sharedSettingNames)[number];

/** Shown to people, so without secrets. Missing: the role does not use it. */
export type SharedSettings = { readonly [N in SharedSettingName]?: string };

export const NOT_SET = 'not set';

/** Times are the database's. */
export type FleetProcess = {
  readonly id: string;
  readonly role: Role | 'all';
  readonly host: string;
  readonly pid: number;
  readonly version: string;
  readonly settings: SharedSettings;
  readonly startedAt: Date;
  readonly seenAt: Date;
  /** Null while it starts. */
  readonly joinedAt: Date | null;
  /** When its queue last carried the installation's mark; null: never, or not in Redis. */
  readonly queueSeenAt: Date | null;
  /** Its own resolvers or network give its checks no answers. */
  readonly resolversFailing: boolean;
  /** Null unless its start was refused. */
  readonly refusedAt: Date | null;
  /** Why it was refused, or what is wrong while it runs. */
  readonly problem: string | null;
};

/** How often a process reports. */
export const BEAT_MS = 10 * SECOND;
/** Without a report for so long, a process is gone. */
export const GONE_MS = 3 * BEAT_MS;
/** How long accepted settings apply. */
export const ACCEPTED_FOR_MS = 3_600 * SECOND;

export type SettingDifference = {
  readonly name: SharedSettingName;
  readonly one: string;
  readonly other: string;
};

/** Of the settings that both use. */
export function differences(one: SharedSettings, other: SharedSettings): SettingDifference[] {
  return sharedSettingNames.flatMap((name) => {
    const [here, there] = [one[name], other[name]];
    return here === undefined || there === undefined || isSame(name, here, there)
      ? []
      : [{ name, one: here, other: there }];
  });
}

/** Hosts can reach one Redis by different names, so its mark decides (`QueueMark`). */
function isSame(name: SharedSettingName, one: string, other: string): boolean {
  return name === 'REDIS_URL' ? (one === NOT_SET) === (other === NOT_SET) : one === other;
}

/**
 * The mark in a Redis: ours, ours but unused for a while, another installation's, none, or it does not
 * answer. `ours` also for a queue in the database, and for a role that has no queue.
 */
export type QueueMark = 'ours' | 'idle' | 'foreign' | 'missing' | 'unknown';

export type Joining = {
  /** As registered. */
  readonly self: FleetProcess;
  readonly others: readonly FleetProcess[];
  readonly accepted: SharedSettings;
  readonly queue: QueueMark;
  readonly now: Date;
  readonly goneMs: number;
};

/** `wait`: the other process starts, too, or has not reported since this one started. */
export type JoinDecision =
  | { readonly kind: 'join' }
  | { readonly kind: 'wait'; readonly reason: 'processes' | 'queue' }
  | { readonly kind: 'refuse'; readonly problem: string; readonly advice: string };

/**
 * Refuses a process whose settings conflict with an earlier one that still runs. It waits until that
 * is known: a crashed process stays in the list for a while, and running ones restore the mark of an
 * emptied Redis with their next report.
 */
export function decideJoin(joining: Joining): JoinDecision {
  const { self, queue } = joining;
  const earlier = joining.others
    .filter((other) => startedBefore(other, self))
    .toSorted((a, b) => a.startedAt.getTime() - b.startedAt.getTime());
  if (queue === 'foreign') return refuse(foreignQueue(self), advice.foreignQueue);
  const conflicts = earlier.flatMap((other) => {
    const found = conflictsWith(other, joining);
    return found.length === 0 ? [] : [{ other, found }];
  });
  const confirmed = conflicts.find(
    ({ other }) => other.joinedAt !== null && other.seenAt > self.startedAt,
  );
  if (confirmed) return refuse(inWords(confirmed.found, confirmed.other), advice.setting);
  if (conflicts.some(({ other }) => isStillPossible(other, joining))) {
    return { kind: 'wait', reason: 'processes' };
  }
  const isUnmarked = queue === 'missing' || queue === 'idle';
  return isUnmarked ? decideUnmarked(earlier, joining) : { kind: 'join' };
}

/** For a queue without a current mark: it is new, emptied, idle, or another than the other processes use. */
function decideUnmarked(
  earlier: readonly FleetProcess[],
  joining: Pick<Joining, 'self' | 'queue' | 'now' | 'goneMs'>,
): JoinDecision {
  const { self, queue, now, goneMs } = joining;
  const sharing = earlier.filter(({ settings }) => (settings.REDIS_URL ?? NOT_SET) !== NOT_SET);
  const marked = sharing.find(({ queueSeenAt }) => queueSeenAt && queueSeenAt > self.startedAt);
  if (marked) return refuse(otherQueue(self, marked), advice.otherQueue);
  // An idle queue means that all processes stopped: only those that still report delay the start.
  const isOpen = sharing.some((other) =>
    queue === 'idle' ? isReporting(other, now, goneMs) : isStillPossible(other, joining),
  );
  return isOpen ? { kind: 'wait', reason: 'processes' } : { kind: 'join' };
}

function startedBefore(other: FleetProcess, self: FleetProcess): boolean {
  const apart = other.startedAt.getTime() - self.startedAt.getTime();
  return other.refusedAt === null && (apart < 0 || (apart === 0 && other.id < self.id));
}

/** Whether it can still run: an outage of the database delays reports. */
function isStillPossible(
  other: FleetProcess,
  { self, now, goneMs }: Pick<Joining, 'self' | 'now' | 'goneMs'>,
): boolean {
  const last = Math.max(other.seenAt.getTime(), self.startedAt.getTime());
  return now.getTime() - last < goneMs;
}

function conflictsWith(other: FleetProcess, joining: Joining): SettingDifference[] {
  const { self, accepted } = joining;
  return differences(self.settings, other.settings).filter(
    ({ name, one }) =>
      accepted[name] !== one && !(name === 'SCHEMA' && isRolling(one, other, joining)),
  );
}

/** Allows another schema during a rolling upgrade: a process of the previous version can still restart. */
function isRolling(schema: string, other: FleetProcess, joining: Joining): boolean {
  return (
    schema > (other.settings.SCHEMA ?? '') ||
    joining.others.some(
      (one) =>
        one.joinedAt !== null &&
        one.settings.SCHEMA === schema &&
        isReporting(one, joining.now, joining.goneMs),
    )
  );
}

/** Neither refused nor silent for `goneMs`. */
function isReporting(
  { refusedAt, seenAt }: Pick<FleetProcess, 'refusedAt' | 'seenAt'>,
  now: Date,
  goneMs: number,
): boolean {
  return refusedAt === null && now.getTime() - seenAt.getTime() < goneMs;
}

/** `worker on host-a`. */
export function processInWords({ role, host }: Pick<FleetProcess, 'role' | 'host'>): string {
  return role === 'all' ? `the process on ${host}` : `${role} on ${host}`;
}

/** For the log of a refused process. Another queue cannot be accepted, because jobs would be split. */
const advice = {
  setting: 'Set the same value. If the change is intended, accept it with `signpost fleet accept`.',
  otherQueue: 'Set the same value. To move to another Redis, stop every process first.',
  foreignQueue:
    'Use another Redis or database index. If that installation is gone: redis-cli DEL signpost:installation.',
} as const;

function refuse(problem: string, then: string): JoinDecision {
  return { kind: 'refuse', problem, advice: then };
}

function inWords(found: readonly SettingDifference[], other: FleetProcess): string {
  const where = `${processInWords(other)} (version ${other.version})`;
  const parts = found.map(({ name, one, other: theirs }) =>
    name === 'SCHEMA'
      ? `this version’s schema is ${one}, older than ${theirs} of ${where}`
      : `${name} is ${one}, but ${theirs} in ${where}`,
  );
  return `${parts.join('; ')}.`;
}

function foreignQueue({ settings }: FleetProcess): string {
  return `REDIS_URL ${settings.REDIS_URL} holds the queue of another installation.`;
}

function otherQueue({ settings }: FleetProcess, other: FleetProcess): string {
  return `REDIS_URL ${settings.REDIS_URL} is another Redis than ${other.settings.REDIS_URL} of ${processInWords(other)} (version ${other.version}).`;
}

type FleetState = 'starting' | 'running' | 'gone' | 'refused';

export type SeenProcess = FleetProcess & {
  readonly state: FleetState;
  /** What it sets unlike the process that started last. */
  readonly differs: readonly SettingDifference[];
  /** It runs, and reports, but its Redis has not answered it for `goneMs`. */
  readonly isCutOff: boolean;
};

/** Newest first. `differs` is empty unless it runs. */
export function seeFleet(
  processes: readonly FleetProcess[],
  now: Date,
  goneMs: number,
): SeenProcess[] {
  const newest = processes.toSorted((a, b) => b.startedAt.getTime() - a.startedAt.getTime());
  const stateOf = (one: FleetProcess): FleetState => {
    if (one.refusedAt !== null) return 'refused';
    if (!isReporting(one, now, goneMs)) return 'gone';
    return one.joinedAt === null ? 'starting' : 'running';
  };
  const running = newest.filter((one) => stateOf(one) === 'running');
  const current: SharedSettings = Object.assign(
    {},
    ...running.toReversed().map((one) => one.settings),
  );
  return newest.map((one) => {
    const state = stateOf(one);
    const differs = state === 'running' ? differences(one.settings, current) : [];
    return {
      ...one,
      state,
      differs,
      isCutOff: state === 'running' && one.problem === null && isCutOff(one, goneMs),
    };
  });
}

function isCutOff({ settings, seenAt, queueSeenAt, joinedAt }: FleetProcess, ms: number): boolean {
  const since = queueSeenAt ?? joinedAt ?? seenAt;
  const hasRedis = (settings.REDIS_URL ?? NOT_SET) !== NOT_SET;
  return hasRedis && seenAt.getTime() - since.getTime() >= ms;
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
      differing: seen.filter(({ differs }) => differs.length > 0).length,
    },
  };
}
