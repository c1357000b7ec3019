/** Durations as people write them. */

const units: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** `45s`, `30m`, `24h`, `90d` or `0` in ms; null for anything else. */
export function durationMs(text: string): number | null {
  if (text === '0') return 0;
  const [, amount, unit = ''] = /^(\d{1,7})([smhd])$/.exec(text) ?? [];
  return amount === undefined ? null : Number(amount) * (units[unit] ?? 0);
}
