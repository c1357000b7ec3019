/** Reads that need no body because the client has it already, and changes of nothing but what it has (RFC 9110, 13). */
import { hash } from 'node:crypto';
import type { Headers } from './route.ts';

/** The strong entity tag of a representation: the same text, the same tag. */
export function entityTagOf(text: string): string {
  return `"${hash('sha1', text, 'base64url')}"`; // tells versions apart; guards nothing
}

/** Whether `If-None-Match` names this tag or `*`. Weak tags compare by their value (RFC 9110, 8.8.3.2). */
export function isUnchanged(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  return isAny(ifNoneMatch) || listed(ifNoneMatch).some((one) => one.replace(/^W\//, '') === tag);
}

/**
 * Whether a change of what is there with this tag may go ahead: `If-Match` names it or is `*` or missing (13.1.1; a weak tag
 * names nothing, 8.8.3.2), and `If-None-Match` does neither (13.1.2). Where not, the answer is 412.
 */
export function mayChange(headers: Headers, tag: string): boolean {
  const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = headers;
  const isMatched = ifMatch === undefined || isAny(ifMatch) || listed(ifMatch).includes(tag);
  return isMatched && !isUnchanged(ifNoneMatch, tag);
}

function isAny(tags: string): boolean {
  return tags.trim() === '*';
}

/** Our own tags have no comma, so a list may be split at them: no foreign part can equal one of ours. */
function listed(tags: string): readonly string[] {
  return tags.split(',').map((one) => one.trim());
}
