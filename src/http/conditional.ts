/** Reads that need no body because the client has it already (RFC 9110, 13.1.2). */
import { hash } from 'node:crypto';

/** The strong entity tag of a representation: the same text, the same tag. */
export function entityTagOf(text: string): string {
  return `"${hash('sha1', text, 'base64url')}"`; // tells versions apart; guards nothing
}

/** Whether `If-None-Match` names this tag or `*`. Weak tags compare by their value (RFC 9110, 8.8.3.2). */
export function isUnchanged(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  if (ifNoneMatch.trim() === '*') return true;
  // Our own tags have no comma, so a list may be split at them: no foreign part can equal one of ours.
  return ifNoneMatch.split(',').some((one) => one.trim().replace(/^W\//, '') === tag);
}
