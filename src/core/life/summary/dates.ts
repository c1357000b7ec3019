import { HOUR, MINUTE, SECOND } from '../../time.ts';
import { counted } from '../../words.ts';

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** `Nov 22`, with the year if it is not this one. In UTC. */
export function dateInWords(at: Date, now: Date): string {
  const text = `${months[at.getUTCMonth()]} ${at.getUTCDate()}`;
  return at.getUTCFullYear() === now.getUTCFullYear() ? text : `${text}, ${at.getUTCFullYear()}`;
}

/** `48 hours`, `90 minutes`, `20 seconds`: the largest unit with a whole number. */
export function spanInWords(ms: number): string {
  if (ms >= HOUR && ms % HOUR === 0) return counted(ms / HOUR, 'hour');
  if (ms >= MINUTE && ms % MINUTE === 0) return counted(ms / MINUTE, 'minute');
  return counted(Math.round(ms / SECOND), 'second');
}
