/** Relative times. The server renders the first ones, the script updates them. */

/** Each unit, the distance in ms below which it is used, and its length in ms. */
const units = [
  ['s', 60_000, 1_000],
  ['min', 3_600_000, 60_000],
  ['h', 2 * 86_400_000, 3_600_000],
  ['days', 100 * 86_400_000, 86_400_000],
  ['months', 730 * 86_400_000, 30 * 86_400_000],
  ['years', Number.POSITIVE_INFINITY, 365 * 86_400_000],
] as const;

/** How far in the future a past event can appear: late pages and clock differences. */
const LATE_MS = 5_000;

/** `3 s ago`, `in 12 min`; times in ms since 1970. `isToCome`: `any moment now` once it is due. */
export function ago(timeMs: number, nowMs: number, isToCome: boolean): string {
  if (isToCome && timeMs <= nowMs) return 'any moment now';
  if (!isToCome && timeMs > nowMs && timeMs - nowMs < LATE_MS) return 'just now';
  const distance = Math.abs(timeMs - nowMs);
  const [unit, , size] = units.find(([, below]) => distance < below) ?? units[5];
  const count = Math.floor(distance / size);
  if (count === 0) return timeMs > nowMs ? 'in a moment' : 'just now';
  return timeMs > nowMs ? `in ${count} ${unit}` : `${count} ${unit} ago`;
}

const format = new Intl.DateTimeFormat('en-US', {
  timeZone: 'UTC',
  year: 'numeric',
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
});

/** `Nov 20, 2026, 12:00:16 UTC`; `at`: RFC 3339. Independent of the browser's language. */
export function exactly(at: string): string {
  const parts = new Map(format.formatToParts(new Date(at)).map(({ type, value }) => [type, value]));
  const [day, month, year] = [parts.get('day'), parts.get('month'), parts.get('year')];
  const clock = [parts.get('hour'), parts.get('minute'), parts.get('second')].join(':');
  return `${month} ${day}, ${year}, ${clock} UTC`;
}
