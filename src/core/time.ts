/** Durations in milliseconds. */

export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
/** 24 hours, not a calendar day. */
export const DAY = 24 * HOUR;

const units = { ms: 1, s: SECOND, m: MINUTE, h: HOUR, d: DAY } as const;

/** `500ms`, `45s`, `30m`, `24h`, `90d` or `0` in milliseconds; null for anything else. */
export function parseDuration(text: string): number | null {
  if (text === '0') return 0;
  const [, amount, unit] = /^(\d{1,9})(ms|s|m|h|d)$/.exec(text) ?? [];
  return amount === undefined ? null : Number(amount) * units[unit as keyof typeof units]; // matched
}

/** The shortest wait, whatever TIME_SCALE is. */
export const WAIT_MS_MIN = 250;

/** A wait divided by TIME_SCALE, at least `leastMs`. */
export function scaledMs(ms: number, timeScale: number, leastMs = WAIT_MS_MIN): number {
  return Math.round(Math.max(leastMs, ms / timeScale));
}

/** Long enough for a running order to store its step, shorter than an orchestrator's 30 s. */
export const STOP_MS = 20 * SECOND;
