import { MINUTE } from '../time.ts';

/** Well before an operator is notified. */
export const standIn = {
  /** Shorter pauses are waited out. */
  pauseMs: 5 * MINUTE,
  /** Shorter failures are waited out: another CA must validate the name again. */
  downMs: 5 * MINUTE,
  /** The wait doubles with each move, so an order does not move forever between two failing CAs. */
  doublings: 6,
} as const;

export type AuthorityState = {
  readonly isForbidden: boolean;
  /** Its latest answer about this name is a refusal that is specific to this CA. */
  readonly saidNo: boolean;
  /** No request before then: Retry-After, or its budget is used up. In the past: available. */
  readonly pausedUntil: Date;
  /** From the first to the last failure in a row; 0 if it answers, even slowly. */
  readonly downForMs: number;
  /** An order was moved away from it, and it has not answered since. */
  readonly isSilent: boolean;
  /** Moves so far, at the CA that currently has the order; 0 at any other. */
  readonly moves: number;
};

export type AuthorityChoice = {
  readonly index: number;
  readonly notBefore: Date;
};

/** Problem types (RFC 8555, 6.7) that reflect this CA's policy or account. */
const anotherMaySayYes: ReadonlySet<string> = new Set([
  'caa',
  'rejected_identifier',
  'unsupported_identifier',
  'user_action_required',
]);

export function isOwnView(problemType: string): boolean {
  return anotherMaySayYes.has(problemType);
}

type Rules = { readonly now: Date; readonly timeScale: number };

/**
 * The first CA that can take the order within minutes; otherwise the one available soonest, silent
 * ones last. Null if CAA forbids all. Pure. `authorities`: in order of preference.
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

/** The CAs that would be chosen if they answered; a request to them can change the choice. */
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
  { now, timeScale }: Rules,
): boolean {
  const downMs = standIn.downMs * 2 ** Math.min(moves, standIn.doublings);
  const isPaused = +pausedUntil - +now > standIn.pauseMs / timeScale;
  return !saidNo && !isSilent && !isPaused && downForMs < downMs / timeScale;
}
