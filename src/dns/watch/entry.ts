/** A watched name in memory: some hundred bytes, of which a process may hold a million. */

import { HOUR, MINUTE } from '../../core/time.ts';
import type { Pace } from '../../core/watch/interval.ts';
import type { WatchedName } from '../../core/watch/watched-name.ts';
import { registrableDomain } from '../servers/zone.ts';
import { keyOf, type Server } from './servers.ts';

/** Flat, and made by one literal, so that V8 keeps it small. Times are those of the steady clock. */
export type Entry = Omit<Mutable<WatchedName>, 'servers'> & {
  servers: readonly Server[];
  /** The registrable domain that it is in. */
  readonly zone: string;
  /** Of what the last check saw, beside `servers`; 32 bits with a sign, which V8 keeps in place. */
  digests: readonly number[];
  pace: Pace;
  /** Which server is asked next. */
  turn: number;
  /** Infinity while a question is under way, and while it waits in line. */
  dueAt: number;
  /** Counts what was put: an answer to a question of before says nothing. */
  version: number;
  /** It is watched no more; the wheel may still have it. */
  gone: boolean;
  /** How many differences were reported one soon after the other, and until when the next one waits. */
  reports: number;
  quietUntil: number;
  /** The digest of whom its domain was delegated to when that was asked last, and when it is asked next. */
  delegation: number | null;
  delegationDueAt: number;
};

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** So many reports in a row wait for nothing: a customer who is trying things out. Our choice. */
const FREE_REPORTS = 5;
/** Doubled with each report after them, up to an hour: a server that shows each visitor something else. Our choice. */
const QUIET_MS = 2 * MINUTE;

/** Nothing of it is due yet. */
export function newEntry(name: WatchedName, servers: readonly Server[], pace: Pace): Entry {
  return {
    id: name.id,
    epoch: name.epoch,
    hostname: name.hostname,
    status: name.status,
    since: name.since,
    servers,
    zone: registrableDomain(name.hostname),
    digests: digestsOf(name),
    pace,
    turn: 0,
    dueAt: 0,
    version: 0,
    gone: false,
    reports: 0,
    quietUntil: Number.NEGATIVE_INFINITY,
    delegation: null,
    delegationDueAt: Number.NEGATIVE_INFINITY,
  };
}

/** Takes over what a newer check saw. */
export function renewEntry(
  entry: Entry,
  name: WatchedName,
  servers: readonly Server[],
  pace: Pace,
): void {
  entry.epoch = name.epoch;
  entry.status = name.status;
  entry.since = name.since;
  entry.servers = servers;
  entry.digests = digestsOf(name);
  entry.pace = pace;
  entry.version += 1;
}

function digestsOf({ servers }: WatchedName): readonly number[] {
  return servers.map(({ digest }) => digest | 0);
}

/** Whether nothing that the watch goes by has changed. */
export function isAsBefore(entry: Entry, next: WatchedName): boolean {
  const { servers, digests } = entry;
  return (
    entry.status === next.status &&
    entry.since === next.since &&
    entry.epoch === next.epoch &&
    servers.length === next.servers.length &&
    next.servers.every(
      (one, i) => servers[i]?.key === keyOf(one) && digests[i] === (one.digest | 0),
    )
  );
}

/**
 * Whether what one of its servers shows now is to be reported: it is not what the last check saw, and not one of many
 * reports in a row. Notes that it was. While no check sees it, the same is reported again.
 */
export function isToReport(entry: Entry, index: number, digest: number, now: number): boolean {
  if ((digest | 0) === entry.digests[index] || now < entry.quietUntil) return false;
  entry.reports = now - entry.quietUntil > HOUR ? 1 : entry.reports + 1;
  entry.quietUntil = now + quietMs(entry.reports);
  return true;
}

function quietMs(reports: number): number {
  return reports < FREE_REPORTS ? 0 : Math.min(HOUR, QUIET_MS * 2 ** (reports - FREE_REPORTS));
}
