/** When a job of ours that goes wrong runs again, and when it is set aside so that it harms no others. */
import { HOUR, MINUTE, SECOND } from '../time.ts';

/** From when a job that goes wrong runs alone, and from when it is set aside. */
export const quarantine = {
  /** Faults in a row; with the waits between them about a quarter of an hour. Our choice. */
  faultsMax: 10,
  /** From so many deaths of its worker in a row it runs alone: of all that died with it only one is at fault. Our choice. */
  deathsSuspicious: 2,
  /** Deaths of its worker in a row while it ran alone. Our choice. */
  deathsAloneMax: 3,
  /**
   * A sweep that has taken a domain so often without a save works on it alone, since of all that were taken with it only one
   * is at fault, and notes it. Our choice.
   */
  takesSuspicious: 3,
  /** How long it is set aside the first time, the second, and every time after that. */
  waitsMs: [5 * MINUTE, HOUR, 24 * HOUR],
} as const;

/** After a fault: 1 s, doubled each time, 5 min at most. */
const faultWait = { firstMs: SECOND, maxMs: 5 * MINUTE } as const;
/** While a storage is away: soon enough that the backlog drains when it is back, seldom enough not to hammer. */
const outageWait = { firstMs: SECOND, maxMs: 30 * SECOND } as const;
const FLOOR_MS = 250;
const REASON_MAX = 300;

/** What has gone wrong with a job so far. */
export type Misfortune = {
  /** In a row, outages not counted. */
  readonly faults: number;
  /** Of its worker, in a row, while it ran alone. */
  readonly deathsAlone: number;
  /** It was set aside before, and has not gone well since. */
  readonly probation: boolean;
};

/** Whether a job is set aside now: after 10 faults or 3 deaths alone, on probation after the first of either. */
export function isPoison({ faults, deathsAlone, probation }: Misfortune): boolean {
  return (
    faults >= (probation ? 1 : quarantine.faultsMax) ||
    deathsAlone >= (probation ? 1 : quarantine.deathsAloneMax)
  );
}

/** Whether a job may have killed its worker, so that no other should be in its hands beside it. */
export function isSuspect(deaths: number, probation: boolean): boolean {
  return probation || deaths >= quarantine.deathsSuspicious;
}

/** Returns the wait in ms after so many faults in a row: 1 s, doubled each time, 5 min at most. `scale`: as in ladder.ts. */
export function faultWaitMs(faults: number, scale: number): number {
  return doubled(faultWait, faults, scale);
}

/** Returns the wait in ms after so many attempts in a row met an outage: 1 s, doubled each time, 30 s at most. */
export function outageWaitMs(outages: number, scale: number): number {
  return doubled(outageWait, outages, scale);
}

/** Returns how long, in ms, a job is set aside the first time, the second, and so on; the last holds ever after. */
export function quarantineWaitsMs(scale: number): readonly number[] {
  return quarantine.waitsMs.map((ms) => Math.round(Math.max(FLOOR_MS, ms * scale)));
}

/** How long, in ms, a sweep leases a domain that it takes the first time, the second, and so on without a save between. */
export function sweepLeasesMs(usualMs: number, scale: number): readonly number[] {
  const usual = Array.from({ length: quarantine.takesSuspicious }, () => usualMs);
  return [...usual, ...quarantineWaitsMs(scale).map((ms) => Math.max(usualMs, ms))];
}

function doubled(
  { firstMs, maxMs }: { readonly firstMs: number; readonly maxMs: number },
  times: number,
  scale: number,
): number {
  const ms = Math.min(maxMs, firstMs * 2 ** Math.min(30, Math.max(0, times - 1)));
  return Math.round(Math.max(FLOOR_MS, ms * scale));
}

/**
 * A fault in one line of at most 300 characters that an operator may read: its name, and the last paragraph of its
 * message (Prisma's begin with source code) without credentials of URLs, keys and whatever else is long and random.
 */
export function reasonOf({ name, message }: { readonly name: string; readonly message: string }) {
  const said =
    withoutSecrets(message)
      .trim()
      .split(/\n\s*\n/)
      .at(-1) ?? '';
  return `${name}: ${said.replace(/\s+/g, ' ')}`.slice(0, REASON_MAX);
}

/** An id of ours, which is no secret. */
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

function withoutSecrets(message: string): string {
  return message
    .slice(0, 10_000)
    .replace(/-----BEGIN [^-]*-----[\s\S]*?(-----END [^-]*-----|$)/g, '…')
    .replace(/\/\/[^/\s]*@/g, '//…@')
    .replace(/[\w+/=-]{32,}/g, (text) => (UUID.test(text) ? text : '…'));
}
