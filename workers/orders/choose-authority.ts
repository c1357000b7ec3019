/** Gathers the state of each CA for src/core/certificates/choose-authority.ts. */
import { randomUUID } from 'node:crypto';
import { generatePrivateKey, sealKey, sealOf } from '../../src/certificates/vault/keys.ts';
import { type BudgetWait, isShare, limitInWords } from '../../src/core/certificates/budget.ts';
import {
  type AuthorityState,
  chooseAuthority,
  isOwnView,
  worthAsking,
} from '../../src/core/certificates/choose-authority.ts';
import { isUnreached } from '../../src/core/certificates/escalation.ts';
import { probesInWords } from '../../src/core/certificates/escalation-words.ts';
import {
  mayOrderAt,
  nextAttemptAt,
  type OrderRefusal,
  takeUpAgainAt,
} from '../../src/core/certificates/order-waits.ts';
import type { Certificate } from '../../src/core/records.ts';
import { MINUTE } from '../../src/core/time.ts';
import type { AuthorityRefusal, IssueWork, Setback } from '../../src/db/issuance/issue-work.ts';
import { isWait } from '../../src/db/issuance/orders.ts';
import { directoriesOf } from '../../src/service/authorities.ts';
import type { Service } from '../../src/service/service.ts';

/** As in `certificate.authority`: a directory, or null for the local CA and an external edge's. */
type AuthorityId = string | null;

/** What the choice between the CAs depends on, beside the work. */
type Choosing = Pick<Service, 'authorities' | 'config' | 'health' | 'now'>;

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
  service: Service,
  work: OrderWork,
): Promise<Certificate | PutOff | null> {
  const { order } = work;
  const budgetWaits = [...work.budgetWaits];
  await askWhoIsAway(service, work);
  for (;;) {
    const { authority, notBefore } = chooseFor(service, { ...work, budgetWaits });
    const place = directoriesOf(service.authorities).indexOf(authority);
    if (notBefore > service.now()) {
      const wait = budgetWaits[place] ?? null;
      await noteWaiting(service, work, authority, wait);
      return { until: notBefore, note: whyPutOff(wait, notBefore) };
    }
    if (order !== null && order.authority === authority) return goOn(service, work, order);
    const opened = (await whyUnreached(service, work)) ?? (await open(service, work, authority));
    if (opened === null || !isWait(opened)) return opened;
    // The budget turned out to be used up; another CA can have tokens left.
    budgetWaits[place] = opened;
  }
}

async function goOn(
  service: Service,
  work: OrderWork,
  order: Certificate,
): Promise<Certificate | PutOff> {
  // An order of an external edge is never placed.
  const isToBePlaced = order.orderUrl === null && order.sealedKey !== null;
  return (isToBePlaced ? await whyUnreached(service, work) : null) ?? order;
}

/** A delayed job runs slightly after its time. Its project must not stop waiting before that. */
const STILL_WAITING_MS = MINUTE;

/** Until then, other accounts and projects take only their share. */
async function noteWaiting(
  { certificates }: Pick<Service, 'certificates'>,
  { domain }: OrderWork,
  authority: AuthorityId,
  wait: BudgetWait | null,
): Promise<void> {
  if (authority === null || wait === null) return;
  if (wait.limit !== 'orders' && !isShare(wait.limit)) return;
  const until = new Date(wait.until.getTime() + STILL_WAITING_MS);
  await certificates.noteWaiting(domain, authority, until);
}

/** Only the CAs that would be chosen if they answered. */
async function askWhoIsAway(service: Service, work: OrderWork): Promise<void> {
  const {
    config: { timeScale },
  } = service;
  const now = service.now();
  const preferred = inPreference(service, work);
  const states = preferred.map((id) => summaryOf(service, work, id));
  const away = worthAsking(states, { now, timeScale }).map((place) => preferred[place] ?? null);
  const others = away.filter((id) => work.order === null || id !== work.order.authority);
  await Promise.all(others.map((id) => service.askAuthority(id)));
}

async function open(
  service: Service,
  { domain, order }: OrderWork,
  authority: AuthorityId,
): Promise<Certificate | BudgetWait | null> {
  const { certificates, now } = service;
  const wanted = { ...newKey(service), authority, instead: order?.id ?? null };
  return certificates.openOrder(domain, wanted, now());
}

/** A P-256 key, sealed for its certificate; an external edge has its own. */
function newKey({ external, vault }: Service): { id: string; sealedKey: Uint8Array | null } {
  const id = randomUUID();
  if (external !== null) return { id, sealedKey: null };
  return { id, sealedKey: sealKey(vault, generatePrivateKey(), sealOf(id)) };
}

function whyPutOff(wait: BudgetWait | null, notBefore: Date): string {
  if (wait?.until.getTime() !== notBefore.getTime()) {
    return 'the authority asked to wait, or accepts no order yet';
  }
  return `the authority allows ${limitInWords(wait)}; the next order is possible at ${wait.until.toISOString()}`;
}

/** By the retry schedule of the same CA, or at once if another CA is next. */
export function afterRefusal(
  service: Choosing,
  work: OrderWork,
  order: Certificate,
  { type, at, retryAfter }: Pick<AuthorityRefusal, 'type' | 'at' | 'retryAfter'>,
): Date {
  const refusal = { type, at, retryAfter, authority: order.authority, isOfThisEpoch: true };
  const recentRefusals = [refusal, ...work.recentRefusals];
  const next = chooseFor(service, { ...work, order: null, setback: null, recentRefusals });
  return next.authority === order.authority
    ? nextAttemptAt(next.refusals, at, retryAfter)
    : later(at, next.plannedAt);
}

export function afterSetback(
  service: Choosing,
  work: OrderWork,
  order: Certificate,
  setback: Setback,
): Date {
  const next = chooseFor(service, { ...work, order, setback });
  const { at, retryAfter } = setback;
  if (next.authority !== order.authority) return later(at, next.plannedAt);
  const { state } = work.domain;
  const since = state.status === 'verified' ? state.verifiedAt : order.createdAt;
  return takeUpAgainAt(since, at, retryAfter);
}

/** Without requests. If CAA forbids all CAs, the first; then no order is placed. */
export function chooseFor(service: Choosing, work: Known): OrderChoice {
  const now = service.now();
  const preferred = inPreference(service, work);
  const states = preferred.map((id) => summaryOf(service, work, id));
  const { timeScale } = service.config;
  const chosen = chooseAuthority(states, { now, timeScale });
  const authority = preferred[chosen?.index ?? 0] ?? null;
  const own = work.recentRefusals.filter((refusal) => refusal.authority === authority);
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
    budgetUntil:
      work.budgetWaits[directoriesOf(service.authorities).indexOf(authority)]?.until ?? null,
  };
}

/** An open order stays at its CA while that can continue it. */
function inPreference(
  service: Pick<Service, 'authorities'>,
  { order }: Pick<Known, 'order'>,
): readonly AuthorityId[] {
  const holder = order?.authority;
  return [...directoriesOf(service.authorities)].sort(
    (one, other) => Number(other === holder) - Number(one === holder),
  );
}

function summaryOf(service: Choosing, known: Known, id: AuthorityId): AuthorityState {
  const { order, setback, recentRefusals, budgetWaits, forbidden, left } = known;
  const place = directoriesOf(service.authorities).indexOf(id);
  const own = recentRefusals.filter((refusal) => refusal.authority === id);
  const [newest] = own;
  const hasOrder = order !== null && order.authority === id;
  // An open order is already counted, so only its own Retry-After delays it.
  const asked = hasOrder ? setback?.retryAfter : mayOrderAt(own);
  const spent = hasOrder ? null : budgetWaits[place]?.until;
  return {
    isForbidden: forbidden.includes(place),
    saidNo: !hasOrder && newest?.isOfThisEpoch === true && isOwnView(newest.type),
    pausedUntil: new Date(Math.max(+(asked ?? 0), +(spent ?? 0))),
    downForMs: downFor(service, known, id),
    isSilent: !hasOrder && isSilent(service, known, id),
    moves: hasOrder ? left.length : 0,
  };
}

/** For a moved order, only its own attempts count: others can have failed before it came. */
function downFor(service: Choosing, { order, setback, left }: Known, id: AuthorityId): number {
  if (order === null || order.authority !== id) return service.health.downForMs(id);
  // A slow CA is not down; the next attempt shows whether it still answers.
  if (setback?.answered === true) return 0;
  const waited = setback === null ? 0 : setback.at.getTime() - setback.since.getTime();
  return left.length > 0 ? waited : Math.max(waited, service.health.downForMs(id));
}

function isSilent(service: Choosing, { recentRefusals, left }: Known, id: AuthorityId): boolean {
  const leftAt = left.find((one) => one.authority === id)?.at;
  if (leftAt === undefined) return false;
  const refusedAt = recentRefusals.find((refusal) => refusal.authority === id)?.at;
  return [service.health.answeredAt(id), refusedAt].every((at) => !at || at <= leftAt);
}

function later(one: Date, other: Date): Date {
  return one > other ? one : other;
}

/** Null if no address fails. */
async function whyUnreached(
  { handshakes, now }: Pick<Service, 'handshakes' | 'now'>,
  { domain, usable }: Pick<IssueWork, 'domain' | 'usable'>,
): Promise<{ readonly until: Date; readonly note: string } | null> {
  const unreached = (await handshakes.probe(domain.hostname)).filter(isUnreached);
  if (unreached.length === 0) return null;
  const { state } = domain;
  const since = state.status === 'verified' ? state.verifiedAt : usable?.issuedAt;
  const until = takeUpAgainAt(since ?? now(), now(), null);
  return { until, note: `no order yet: on ${probesInWords(unreached)}` };
}
