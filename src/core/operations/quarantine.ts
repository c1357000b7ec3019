/** When a failed job is retried, and when it is quarantined so that others can run. */
import { HOUR, MINUTE, SECOND, scaledMs } from '../time.ts';
import { isUuid } from '../uuid.ts';

export const quarantine = {
  /** Faults in a row. With the backoff, the last one comes after about nine minutes. */
  faultsMax: 10,
  /** Worker crashes in a row. Several jobs run at a crash, so a suspect then runs alone. */
  deathsSuspicious: 2,
  /** Crashes in a row while the job ran alone. */
  deathsAloneMax: 3,
  /** A sweep that took a domain this often without saving it processes it alone and logs it. */
  takesSuspicious: 3,
  /** The first time, the second, and from then on. */
  waitsMs: [5 * MINUTE, HOUR, 24 * HOUR],
} as const;

/** Doubled each time. */
const faultWait = { firstMs: SECOND, maxMs: 5 * MINUTE } as const;
/** For an outage of Redis or PostgreSQL: the backlog drains soon after it. */
const outageWait = { firstMs: SECOND, maxMs: 30 * SECOND } as const;

export type Misfortune = {
  /** In a row, without outages. */
  readonly faults: number;
  /** In a row. */
  readonly deathsAlone: number;
  /** It was quarantined before and has not succeeded since. */
  readonly probation: boolean;
};

/** On probation, one fault or crash is enough. */
export function isPoison({ faults, deathsAlone, probation }: Misfortune): boolean {
  return (
    faults >= (probation ? 1 : quarantine.faultsMax) ||
    deathsAlone >= (probation ? 1 : quarantine.deathsAloneMax)
  );
}

export function isSuspect(deaths: number, probation: boolean): boolean {
  return probation || deaths >= quarantine.deathsSuspicious;
}

/** `faults`: in a row. */
export function faultWaitMs(faults: number, timeScale: number): number {
  return doubled(faultWait, faults, timeScale);
}

/** `outages`: failed attempts in a row. */
export function outageWaitMs(outages: number, timeScale: number): number {
  return doubled(outageWait, outages, timeScale);
}

/** The last value repeats. */
export function quarantineWaitsMs(timeScale: number): readonly number[] {
  return quarantine.waitsMs.map((ms) => scaledMs(ms, timeScale));
}

/** For each time in a row that a sweep takes a domain without saving it. */
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
  return scaledMs(ms, timeScale);
}

const REASON_MAX = 300;

/**
 * Why a job failed, for operators: one line of at most 300 characters without credentials, keys and
 * long random text. Keeps the last paragraph: Prisma's messages start with source code.
 */
export function failureReason({ name, message }: Pick<Error, 'name' | 'message'>): string {
  const said =
    withoutTokens(withoutSecrets(message.slice(0, 10_000)))
      .trim()
      .split(/\n\s*\n/)
      .at(-1) ?? '';
  return `${name}: ${said.replace(/\s+/g, ' ')}`.slice(0, REASON_MAX);
}

/** IDs are not secrets. */
function withoutTokens(text: string): string {
  return text.replace(/[\w+/=-]{32,}/g, (part) => (isUuid(part) ? part : '…'));
}

/** Replaces passwords in URLs, Signpost's keys and secrets, and everything in PEM with `…`. */
export function withoutSecrets(text: string): string {
  return text
    .replace(/-----BEGIN [^-]*-----[\s\S]*?(-----END [^-]*-----|$)/g, '…')
    .replace(/\/\/[^/\s]*@/g, '//…@')
    .replace(/\b(signpost_|whsec_)[\w+/=]+/g, '$1…');
}
