const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** `Nov 22`, with the year if it is not this one. In UTC. */
export function dateInWords(at: Date, now: Date): string {
  const text = `${months[at.getUTCMonth()]} ${at.getUTCDate()}`;
  return at.getUTCFullYear() === now.getUTCFullYear() ? text : `${text}, ${at.getUTCFullYear()}`;
}

const HOUR_MS = 3_600_000;

/** `48 hours`, `90 minutes`, `20 seconds`: the largest unit with a whole number. */
export function spanInWords(ms: number): string {
  if (ms >= HOUR_MS && ms % HOUR_MS === 0) return counted(ms / HOUR_MS, 'hour');
  if (ms >= 60_000 && ms % 60_000 === 0) return counted(ms / 60_000, 'minute');
  return counted(Math.round(ms / 1_000), 'second');
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
