/** Gathers the state of each CA for src/core/certificates/choose-authority.ts. */
import { type BudgetWait, limitInWords } from '../../src/core/certificates/budget.ts';
import {
  type AuthorityState,
  chooseAuthority,
  isOwnView,
  worthAsking,
} from '../../src/core/certificates/choose-authority.ts';
import { isUnreached, type Probe } from '../../src/core/certificates/escalation.ts';
import { probesInWords } from '../../src/core/certificates/escalation-words.ts';
import {
  mayOrderAt,
  nextAttemptAt,
  type OrderRefusal,
  takeUpAgainAt,
} from '../../src/core/certificates/plan.ts';
import type { CheckRules } from '../../src/core/life/check.ts';
import type { Certificate } from '../../src/core/records.ts';
import type { CertificateStore } from '../../src/db/issuance/certificates.ts';
import type { AuthorityRefusal, IssueWork, Setback } from '../../src/db/issuance/issue-work.ts';
import { isWait } from '../../src/db/issuance/orders.ts';

/** As in `certificate.authority`: a directory, or null for the local CA and an external edge's. */
type AuthorityId = string | null;

export type ChoiceDeps = {
  /** In order of preference, at least one. */
  readonly authorities: readonly AuthorityId[];
  /** For how many ms it has not answered any order. */
  downForMs(authority: AuthorityId): number;
  /** When it last answered this process. */
  answeredAt(authority: AuthorityId): Date | null;
  rules(now: Date): CheckRules;
  now(): Date;
};

export type OrderChoice = {
  readonly authority: AuthorityId;
  /** No request before then; in the past: now. */
  readonly notBefore: Date;
  /** In this epoch, for the retry schedule. */
  readonly refusals: number;
  /** By the retry schedule; in the past: now. */
  readonly plannedAt: Date;
  /** Of the name, from any epoch. */
  readonly recentRefusals: readonly OrderRefusal[];
  /** A rate limit blocks new orders until then. */
  readonly budgetUntil: Date | null;
};

export type TakeUpDeps = ChoiceDeps &
  ReachDeps & {
    readonly certificates: Pick<CertificateStore, 'openOrder'>;
    /** If unknown, checks whether the CA answers; `downForMs` and `answeredAt` reflect it. */
    ask(authority: AuthorityId): Promise<void>;
    /** A P-256 key, sealed for its certificate; `sealedKey` is null for an external edge. */
    newKey(): Promise<{ id: string; sealedKey: Uint8Array | null }>;
  };

/** `forbidden`: indexes of the CAs that CAA forbids. */
export type OrderWork = IssueWork & { readonly forbidden: readonly number[] };

/** Before `until` the job opens no order and does not resume the open one. */
export type PutOff = { readonly until: Date; readonly note: string };

type Known = Pick<
  OrderWork,
  'order' | 'setback' | 'recentRefusals' | 'left' | 'budgetWaits' | 'forbidden'
>;

/**
 * The open order if its CA can continue it, otherwise a new one at the CA that can. Null if the
 * domain changed since it was loaded. An order that was never placed is checked like a new one.
 */
export async function takeUp(
  deps: TakeUpDeps,
  work: OrderWork,
): Promise<Certificate | PutOff | null> {
  const { order } = work;
  const budgetWaits = [...work.budgetWaits];
  await askWhoIsAway(deps, work);
  for (;;) {
    const { authority, notBefore } = chooseFor(deps, { ...work, budgetWaits });
    const place = deps.authorities.indexOf(authority);
    if (notBefore > deps.now()) {
      return { until: notBefore, note: whyPutOff(budgetWaits[place] ?? null, notBefore) };
    }
    if (order !== null && idIn(deps, order) === authority) return goOn(deps, work, order);
    const opened = (await whyUnreached(deps, work)) ?? (await open(deps, work, authority));
    if (opened === null || !isWait(opened)) return opened;
    // The budget turned out to be used up; another CA can have tokens left.
    budgetWaits[place] = opened;
  }
}

async function goOn(
  deps: TakeUpDeps,
  work: OrderWork,
  order: Certificate,
): Promise<Certificate | PutOff> {
  // An order of an external edge is never placed.
  const isToBePlaced = order.orderUrl === null && order.sealedKey !== null;
  return (isToBePlaced ? await whyUnreached(deps, work) : null) ?? order;
}

/** Only the CAs that would be chosen if they answered. */
async function askWhoIsAway(deps: TakeUpDeps, work: OrderWork): Promise<void> {
  const { now, timeScale } = deps.rules(deps.now());
  const preferred = inPreference(deps, work);
  const states = preferred.map((id) => summaryOf(deps, work, id));
  const away = worthAsking(states, { now, timeScale }).map((place) => preferred[place] ?? null);
  const others = away.filter((id) => work.order === null || id !== idIn(deps, work.order));
  await Promise.all(others.map((id) => deps.ask(id)));
}

async function open(
  { certificates, newKey, now }: TakeUpDeps,
  { domain, order }: OrderWork,
  authority: AuthorityId,
): Promise<Certificate | BudgetWait | null> {
  const wanted = { ...(await newKey()), authority, instead: order?.id ?? null };
  return certificates.openOrder(domain, wanted, now());
}

function whyPutOff(wait: BudgetWait | null, notBefore: Date): string {
  if (wait?.until.getTime() !== notBefore.getTime()) {
    return 'the authority asked to wait, or accepts no order yet';
  }
  return `the authority allows ${limitInWords(wait)}; the next order is possible at ${wait.until.toISOString()}`;
}

/** By the retry schedule of the same CA, or at once if another CA is next. */
export function afterRefusal(
  deps: ChoiceDeps,
  work: OrderWork,
  order: Certificate,
  { type, at, retryAfter }: Pick<AuthorityRefusal, 'type' | 'at' | 'retryAfter'>,
): Date {
  const refusal = { type, at, retryAfter, authority: order.authority, isOfThisEpoch: true };
  const recentRefusals = [refusal, ...work.recentRefusals];
  const next = chooseFor(deps, { ...work, order: null, setback: null, recentRefusals });
  return next.authority === idIn(deps, order)
    ? nextAttemptAt(next.refusals, at, retryAfter)
    : later(at, next.plannedAt);
}

export function afterSetback(
  deps: ChoiceDeps,
  work: OrderWork,
  order: Certificate,
  setback: Setback,
): Date {
  const next = chooseFor(deps, { ...work, order, setback });
  const { at, retryAfter } = setback;
  if (next.authority !== idIn(deps, order)) return later(at, next.plannedAt);
  const { state } = work.domain;
  const since = state.status === 'verified' ? state.verifiedAt : order.createdAt;
  return takeUpAgainAt(since, at, retryAfter);
}

/** Without requests. If CAA forbids all CAs, the first; then no order is placed. */
export function chooseFor(deps: ChoiceDeps, work: Known): OrderChoice {
  const now = deps.now();
  const preferred = inPreference(deps, work);
  const states = preferred.map((id) => summaryOf(deps, work, id));
  const { timeScale } = deps.rules(now);
  const chosen = chooseAuthority(states, { now, timeScale });
  const authority = preferred[chosen?.index ?? 0] ?? null;
  const own = work.recentRefusals.filter((refusal) => idIn(deps, refusal) === authority);
  const ofThisEpoch = own.filter(({ isOfThisEpoch }) => isOfThisEpoch);
  const [newest] = ofThisEpoch;
  const notBefore = chosen?.notBefore ?? now;
  return {
    authority,
    notBefore,
    refusals: ofThisEpoch.length,
    plannedAt:
      newest === undefined
        ? notBefore
        : later(notBefore, nextAttemptAt(ofThisEpoch.length, newest.at, newest.retryAfter)),
    recentRefusals: own,
    budgetUntil: work.budgetWaits[deps.authorities.indexOf(authority)]?.until ?? null,
  };
}

/** An open order stays at its CA while that can continue it. */
function inPreference(
  deps: Pick<ChoiceDeps, 'authorities'>,
  { order }: Pick<Known, 'order'>,
): readonly AuthorityId[] {
  const holder = order && idIn(deps, order);
  return [...deps.authorities].sort(
    (one, other) => Number(other === holder) - Number(one === holder),
  );
}

/** Older orders don't store their CA and belong to the first. */
function idIn(
  { authorities }: Pick<ChoiceDeps, 'authorities'>,
  { authority }: { readonly authority: AuthorityId },
): AuthorityId {
  return authority ?? authorities[0] ?? null;
}

function summaryOf(deps: ChoiceDeps, known: Known, id: AuthorityId): AuthorityState {
  const { order, setback, recentRefusals, budgetWaits, forbidden, left } = known;
  const place = deps.authorities.indexOf(id);
  const own = recentRefusals.filter((refusal) => idIn(deps, refusal) === id);
  const [newest] = own;
  const hasOrder = order !== null && idIn(deps, order) === id;
  // An open order is already counted, so only its own Retry-After delays it.
  const asked = hasOrder ? setback?.retryAfter : mayOrderAt(own);
  const spent = hasOrder ? null : budgetWaits[place]?.until;
  return {
    isForbidden: forbidden.includes(place),
    saidNo: !hasOrder && newest?.isOfThisEpoch === true && isOwnView(newest.type),
    pausedUntil: new Date(Math.max(+(asked ?? 0), +(spent ?? 0))),
    downForMs: downFor(deps, known, id),
    isSilent: !hasOrder && isSilent(deps, known, id),
    moves: hasOrder ? left.length : 0,
  };
}

/** For a moved order, only its own attempts count: others can have failed before it came. */
function downFor(deps: ChoiceDeps, { order, setback, left }: Known, id: AuthorityId): number {
  if (order === null || idIn(deps, order) !== id) return deps.downForMs(id);
  // A slow CA is not down; the next attempt shows whether it still answers.
  if (setback?.answered === true) return 0;
  const waited = setback === null ? 0 : setback.at.getTime() - setback.since.getTime();
  return left.length > 0 ? waited : Math.max(waited, deps.downForMs(id));
}

function isSilent(deps: ChoiceDeps, { recentRefusals, left }: Known, id: AuthorityId): boolean {
  const leftAt = left.find((one) => idIn(deps, one) === id)?.at;
  if (leftAt === undefined) return false;
  const refusedAt = recentRefusals.find((refusal) => idIn(deps, refusal) === id)?.at;
  return [deps.answeredAt(id), refusedAt].every((at) => !at || at <= leftAt);
}

function later(one: Date, other: Date): Date {
  return one > other ? one : other;
}

type ReachDeps = {
  /** Empty for the local CA, or if probes are turned off. */
  probe(hostname: string): Promise<readonly Probe[]>;
  now(): Date;
};

/** Null if no address fails. */
async function whyUnreached(
  { probe, now }: ReachDeps,
  { domain, usable }: Pick<IssueWork, 'domain' | 'usable'>,
): Promise<{ readonly until: Date; readonly note: string } | null> {
  const unreached = (await probe(domain.hostname)).filter(isUnreached);
  if (unreached.length === 0) return null;
  const { state } = domain;
  const since = state.status === 'verified' ? state.verifiedAt : usable?.issuedAt;
  const until = takeUpAgainAt(since ?? now(), now(), null);
  return { until, note: `no order yet: on ${probesInWords(unreached)}` };
}
