/**
 * Which of several certificate authorities the next order goes to. The first of the list is the one that the operator
 * wants; the others stand in for it.
 */

import { scaleOf } from '../life/ladder.ts';
import { MINUTE } from '../time.ts';

/** When another authority takes an order over. Our choice: first well before an operator is notified. */
export const standIn = {
  /** A pause that ends sooner is waited for. */
  pauseMs: 5 * MINUTE,
  /** A short failure moves nothing: an order there may be half done, and another one has to prove the name again. */
  downMs: 5 * MINUTE,
  /**
   * Twice as long after each move of the same life, up to 5 h 20 min: between two authorities that answer requests and fail
   * orders, an order would move for ever.
   */
  doublings: 6,
} as const;

/** What is known of one authority when an order for one name is to be placed or continued. */
export type AuthorityState = {
  /** By the CAA records that we have seen. */
  readonly isForbidden: boolean;
  /** Its newest answer about this name was a no that another authority need not share. */
  readonly saidNo: boolean;
  /** Nothing may be asked there before then: it wants us to wait, or its budget is used up. In the past: now. */
  readonly pausedUntil: Date;
  /** How long it has given no answer, from the first time in a row to the last; 0 where it does, however slow it is. */
  readonly downForMs: number;
  /** An order of this life was taken away from it, and it has not answered any request since. */
  readonly isSilent: boolean;
  /** How often this life's order was moved before, where this authority has it now; 0 for any other. */
  readonly moves: number;
};

/** Where the order goes. */
export type AuthorityChoice = {
  /** Its place in the list that was given. */
  readonly index: number;
  /** Nothing may be asked there before then; in the past: now. */
  readonly notBefore: Date;
};

/** Problem types (RFC 8555, 6.7) that are the authority's own view of the name, or of us. */
const anotherMaySayYes: ReadonlySet<string> = new Set([
  'caa',
  'rejected_identifier',
  'unsupported_identifier',
  'user_action_required',
]);

/** Whether a refusal of this type says nothing about what another authority would answer. */
export function isOwnView(problemType: string): boolean {
  return anotherMaySayYes.has(problemType);
}

type Rules = { readonly now: Date; readonly windowMs: number };

/**
 * Chooses the first that can take the order within minutes. Where none can, the first of those that can be asked again
 * soonest, whatever else is known of them, but a silent one only where all are. Null where CAA forbids all of them. Pure.
 * `authorities`: in the order of preference. `windowMs`: a laboratory's shortens the waits.
 */
export function chooseAuthority(
  authorities: readonly AuthorityState[],
  rules: Rules,
): AuthorityChoice | null {
  const open = authorities.flatMap((authority, index) =>
    authority.isForbidden ? [] : [{ authority, index, notBefore: authority.pausedUntil }],
  );
  const answering = open.filter(({ authority }) => !authority.isSilent);
  const left = answering.length > 0 ? answering : open;
  const soonest = Math.min(...left.map(({ notBefore }) => Math.max(+notBefore, +rules.now)));
  const chosen =
    open.find(({ authority }) => isWell(authority, rules)) ??
    left.find(({ notBefore }) => +notBefore <= soonest);
  return chosen === undefined ? null : { index: chosen.index, notBefore: chosen.notBefore };
}

/** Returns the places of those that would have the order if they answered: asking them may change the choice. */
export function worthAsking(
  authorities: readonly AuthorityState[],
  rules: Rules,
): readonly number[] {
  const chosen = authorities.findIndex((one) => !one.isForbidden && isWell(one, rules));
  const before = chosen === -1 ? authorities : authorities.slice(0, chosen);
  return before.flatMap((authority, index) => {
    const answering = { ...authority, isSilent: false, downForMs: 0 };
    return !authority.isForbidden && isWell(answering, rules) ? [index] : [];
  });
}

function isWell(
  { saidNo, pausedUntil, downForMs, isSilent, moves }: AuthorityState,
  { now, windowMs }: Rules,
): boolean {
  const scale = scaleOf(windowMs);
  const downMs = standIn.downMs * 2 ** Math.min(moves, standIn.doublings);
  const isPaused = +pausedUntil - +now > standIn.pauseMs * scale;
  return !saidNo && !isSilent && !isPaused && downForMs < downMs * scale;
}
