/**
 * Where the next order of a domain goes, and whether an open one stays where it is: what is known of each authority, put
 * to the rule (src/core/certificates/choose-authority.ts).
 */
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
  type Refusal,
  takeUpAgainAt,
} from '../../src/core/certificates/plan.ts';
import type { CheckRules } from '../../src/core/life/check.ts';
import type { Certificate } from '../../src/core/records.ts';
import type { CertificateStore } from '../../src/db/issuance/certificates.ts';
import type { AuthorityRefusal, IssueWork, Setback } from '../../src/db/issuance/issue-work.ts';
import { isWait } from '../../src/db/issuance/orders.ts';

/** As `certificate.authority` has it: a directory, or null for the local authority and another edge's. */
export type AuthorityId = string | null;

/** What this process knows of its authorities. */
export type ChoiceDeps = {
  /** At least one, the first choice first. */
  readonly authorities: readonly AuthorityId[];
  /** For how many ms it has given no answer to any order; 0 where it does. */
  downForMs(authority: AuthorityId): number;
  /** When it last answered this process, whatever it was asked; null: not yet. */
  answeredAt(authority: AuthorityId): Date | null;
  rules(now: Date): CheckRules;
  now(): Date;
};

/** The authority for the next order, and when that is allowed. */
export type Choice = {
  readonly authority: AuthorityId;
  /** The authority allows nothing before then; in the past: now. */
  readonly notBefore: Date;
  /** How often it refused in this epoch, for its own plan. */
  readonly refusals: number;
  /** When its plan has the next order; in the past: now. */
  readonly plannedAt: Date;
  /** Its newest refusals of the name, from whichever epoch. */
  readonly recentRefusals: readonly Refusal[];
  /** Until when a known limit of its budget allows no new order; null where none does. */
  readonly budgetUntil: Date | null;
};

/** What an order is opened with. */
export type TakeUpDeps = ChoiceDeps &
  ReachDeps & {
    readonly certificates: Pick<CertificateStore, 'openOrder'>;
    /**
     * Asks the authority whether it answers at all, where that is not known; `downForMs` and `answeredAt` have the
     * result.
     */
    ask(authority: AuthorityId): Promise<void>;
    /** A new P-256 key, sealed for the certificate it belongs to; null where an edge of another make has it. */
    newKey(): Promise<{ id: string; sealedKey: Uint8Array | null }>;
  };

/** What an order is placed or continued by. `forbidden`: the places of the authorities that CAA forbids. */
export type OrderWork = IssueWork & { readonly forbidden: readonly number[] };

/** However the job was woken, before `until` it neither opens an order nor asks about the open one. `note`: why. */
export type PutOff = { readonly until: Date; readonly note: string };

type Known = Pick<
  OrderWork,
  'order' | 'setback' | 'recentRefusals' | 'left' | 'budgetWaits' | 'forbidden'
>;

/**
 * Returns the open order where its authority can continue it, else a new one at the authority that can, in its place.
 * Null where the domain is no longer what it was loaded as. An order that its authority has never seen is checked as a
 * new one is.
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
    // Its budget is used up, as it turned out: another one may have some left.
    budgetWaits[place] = opened;
  }
}

async function goOn(
  deps: TakeUpDeps,
  work: OrderWork,
  order: Certificate,
): Promise<Certificate | PutOff> {
  // That of another edge is never placed.
  const isToBePlaced = order.orderUrl === null && order.sealedKey !== null;
  return (isToBePlaced ? await whyUnreached(deps, work) : null) ?? order;
}

/** Asks those that would have the order if they answered: time alone brings none of them back. */
async function askWhoIsAway(deps: TakeUpDeps, work: OrderWork): Promise<void> {
  const { now, windowMs } = deps.rules(deps.now());
  const preferred = inPreference(deps, work);
  const states = preferred.map((id) => summaryOf(deps, work, id));
  const away = worthAsking(states, { now, windowMs }).map((place) => preferred[place] ?? null);
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
    return 'the authority asked to wait, or allows no order yet';
  }
  return `the authority allows ${limitInWords(wait)}: the next at ${wait.until.toISOString()}`;
}

/**
 * Returns the time of the next try after this refusal: by the plan of the authority that refused, or at once where
 * another one is next.
 */
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

/** Returns when the open order is continued, there or at another authority. */
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

/**
 * Chooses by the rule of the core from what is known now; asks nobody. Where CAA forbids all of them it is the first
 * choice, for which nothing is ordered.
 */
export function chooseFor(deps: ChoiceDeps, work: Known): Choice {
  const now = deps.now();
  const preferred = inPreference(deps, work);
  const states = preferred.map((id) => summaryOf(deps, work, id));
  const { windowMs } = deps.rules(now);
  const chosen = chooseAuthority(states, { now, windowMs });
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

/** An order that is open stays where it is while that can go on with it. */
function inPreference(
  deps: Pick<ChoiceDeps, 'authorities'>,
  { order }: Pick<Known, 'order'>,
): readonly AuthorityId[] {
  const holder = order && idIn(deps, order);
  return [...deps.authorities].sort(
    (one, other) => Number(other === holder) - Number(one === holder),
  );
}

/** Returns whose an order is. Orders from before there were several do not say: they are the first one's. */
export function idIn(
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
  // An open order has been allowed, and counted: it waits for nothing but its own Retry-After.
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

/** Of an order that has been moved before, its own tries count alone: others may have failed long before it came. */
function downFor(deps: ChoiceDeps, { order, setback, left }: Known, id: AuthorityId): number {
  if (order === null || idIn(deps, order) !== id) return deps.downForMs(id);
  // Slow is not down: its next try shows whether it still answers.
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

/** How the addresses of a name are probed. */
export type ReachDeps = {
  /**
   * Asks each address of the name for a challenge; empty where no authority ever asks, and where the operator wants
   * none.
   */
  probe(hostname: string): Promise<readonly Probe[]>;
  now(): Date;
};

/** Resolves with why no order is placed, and when the addresses are asked again; null where none of them fails. */
export async function whyUnreached(
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
