/** When a failed job is retried, and when it is quarantined so that it cannot block others. */
import { HOUR, MINUTE, SECOND } from '../time.ts';

/** Thresholds for running a job alone and for quarantining it. */
export const quarantine = {
  /** Faults in a row; with the backoff, about a quarter of an hour. */
  faultsMax: 10,
  /**
   * After this many worker crashes in a row, a job runs alone: several jobs run when a worker
   * crashes, but only one is the cause.
   */
  deathsSuspicious: 2,
  /** Worker crashes in a row while the job ran alone. */
  deathsAloneMax: 3,
  /**
   * After a sweep has taken a domain this often without saving it, the sweep processes it alone and
   * logs it.
   */
  takesSuspicious: 3,
  /** How long a job is quarantined the first time, the second, and from then on. */
  waitsMs: [5 * MINUTE, HOUR, 24 * HOUR],
} as const;

/** After a fault: 1 s, doubled each time, at most 5 min. */
const faultWait = { firstMs: SECOND, maxMs: 5 * MINUTE } as const;
/**
 * During an outage of Redis or PostgreSQL: the backlog drains soon after it, without flooding the
 * server.
 */
const outageWait = { firstMs: SECOND, maxMs: 30 * SECOND } as const;
const FLOOR_MS = 250;
const REASON_MAX = 300;

/** The failures of a job so far. */
export type Misfortune = {
  /** Faults in a row, without outages. */
  readonly faults: number;
  /** Worker crashes in a row while the job ran alone. */
  readonly deathsAlone: number;
  /** It was quarantined before and has not succeeded since. */
  readonly probation: boolean;
};

/**
 * Whether to quarantine a job now: after `faultsMax` faults or `deathsAloneMax` crashes; on
 * probation, after the first.
 */
export function isPoison({ faults, deathsAlone, probation }: Misfortune): boolean {
  return (
    faults >= (probation ? 1 : quarantine.faultsMax) ||
    deathsAlone >= (probation ? 1 : quarantine.deathsAloneMax)
  );
}

/** Whether a job may have crashed its worker, so it must run alone. */
export function isSuspect(deaths: number, probation: boolean): boolean {
  return probation || deaths >= quarantine.deathsSuspicious;
}

/**
 * Returns the backoff in ms after this many faults in a row: 1 s, doubled each time, at most 5 min.
 * `timeScale` divides every wait (TIME_SCALE).
 */
export function faultWaitMs(faults: number, timeScale: number): number {
  return doubled(faultWait, faults, timeScale);
}

/**
 * Returns the backoff in ms after this many attempts in a row during an outage: 1 s, doubled each
 * time, at most 30 s.
 */
export function outageWaitMs(outages: number, timeScale: number): number {
  return doubled(outageWait, outages, timeScale);
}

/** Returns how long, in ms, a job is quarantined each time; the last value repeats. */
export function quarantineWaitsMs(timeScale: number): readonly number[] {
  return quarantine.waitsMs.map((ms) => Math.round(Math.max(FLOOR_MS, ms / timeScale)));
}

/**
 * Returns the lease, in ms, of a domain that a sweep takes for the first time, the second, and so
 * on without saving it.
 */
export function sweepLeasesMs(usualMs: number, timeScale: number): readonly number[] {
  const usual = Array.from({ length: quarantine.takesSuspicious }, () => usualMs);
  return [...usual, ...quarantineWaitsMs(timeScale).map((ms) => Math.max(usualMs, ms))];
}

function doubled(
  { firstMs, maxMs }: { readonly firstMs: number; readonly maxMs: number },
  times: number,
  timeScale: number,
): number {
  const ms = Math.min(maxMs, firstMs * 2 ** Math.min(30, Math.max(0, times - 1)));
  return Math.round(Math.max(FLOOR_MS, ms / timeScale));
}

/**
 * Formats a fault for an operator in one line of at most 300 characters: its name and the last
 * paragraph of its message (Prisma's messages start with source code), without credentials in URLs,
 * keys and long random text.
 */
export function reasonOf({ name, message }: { readonly name: string; readonly message: string }) {
  const said =
    withoutSecrets(message)
      .trim()
      .split(/\n\s*\n/)
      .at(-1) ?? '';
  return `${name}: ${said.replace(/\s+/g, ' ')}`.slice(0, REASON_MAX);
}

/** Ids are not secrets. */
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function withoutSecrets(message: string): string {
  return message
    .slice(0, 10_000)
    .replace(/-----BEGIN [^-]*-----[\s\S]*?(-----END [^-]*-----|$)/g, '…')
    .replace(/\/\/[^/\s]*@/g, '//…@')
    .replace(/[\w+/=-]{32,}/g, (text) => (UUID.test(text) ? text : '…'));
}
