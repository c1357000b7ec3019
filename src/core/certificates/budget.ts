/**
 * What a certificate authority's published limits leave us, kept by ourselves so that no order meets them: token buckets,
 * each stored as one time, at which it is full again (the generic cell rate algorithm, as the authority itself counts).
 */

import { getDomain } from 'tldts';
import { DEFAULT_ACCOUNT_ID } from '../accounts/access.ts';
import { DAY, HOUR } from '../time.ts';
import { shareAt } from './fair-share.ts';
import type { RenewalWindow } from './plan.ts';

/**
 * Let's Encrypt's (letsencrypt.org/docs/rate-limits, read 2026-08-05). A bucket holds `tokens` and is refilled evenly, an
 * empty one within `windowMs`: an order every 36 s, a certificate every 202 min, of one set of names every 34 h, a failed
 * authorization every 12 min.
 */
export const authorityLimits = {
  /** New orders of our account. */
  orders: { tokens: 300, windowMs: 3 * HOUR },
  /** An account's share of them while others wait, a quarter. Our choice. */
  account_orders: { tokens: 75, windowMs: 3 * HOUR },
  /** A project's share of them: counted no more, and read where it was stored. */
  project_orders: { tokens: 75, windowMs: 3 * HOUR },
  /** Certificates for a registrable domain and all names below it. */
  registrable_domain: { tokens: 50, windowMs: 7 * DAY },
  /** Certificates for exactly the same names; we order one name at a time. */
  same_names: { tokens: 5, windowMs: 7 * DAY },
  /** Failed authorizations of a name. */
  failed_authorizations: { tokens: 5, windowMs: HOUR },
} as const satisfies Readonly<
  Record<string, { readonly tokens: number; readonly windowMs: number }>
>;

/** One of the limits above, by its name; part of the keys by which buckets are stored. */
export type AuthorityLimit = keyof typeof authorityLimits;

/**
 * `opened`: as the kind of order that was opened. `plain`: after all without naming what it replaces, so that limits hold
 * for it that did not when it was opened.
 */
export type PlacedAs = 'opened' | 'plain';

/** Whose limits are kept. `none`: only our own restraint, of five refusals of a name in an hour. */
export type Budget = 'letsencrypt' | 'none';

/**
 * `renewal`: this domain has a certificate of the same authority, so neither the account's orders nor the registrable
 * domain's certificates are counted. `replacement`: it is ordered with `replaces` (RFC 9773, 5) and in the window that the
 * authority asked for; no limit holds for it.
 */
export type OrderKind = 'first' | 'renewal' | 'replacement';

/** A bucket that an order has to do with. */
export type Bucket = {
  /** Its limit, its authority and whose it is, by which it is stored. */
  readonly key: string;
  readonly limit: AuthorityLimit;
};

/** An order may not be placed yet. */
export type BudgetWait = {
  readonly limit: AuthorityLimit;
  /** Whose limit: a host name, a registrable domain or an id as `sharerOf` gives it; empty for our account at the authority. */
  readonly subject: string;
  readonly until: Date;
};

const countedFor: Readonly<Record<Budget, Readonly<Record<OrderKind, readonly AuthorityLimit[]>>>> =
  {
    letsencrypt: {
      first: [
        'failed_authorizations',
        'orders',
        'account_orders',
        'registrable_domain',
        'same_names',
      ],
      renewal: ['failed_authorizations', 'same_names'],
      replacement: [],
    },
    none: {
      first: ['failed_authorizations'],
      renewal: ['failed_authorizations'],
      replacement: ['failed_authorizations'],
    },
  };

/** Whom an order is for. */
export type OrderOwner = {
  readonly hostname: string;
  readonly projectId: string;
  readonly accountId: string;
};

/** Who shares with others: an account; of the one that everything without an account goes to, each project by itself. */
export function sharerOf({ accountId, projectId }: Omit<OrderOwner, 'hostname'>): string {
  return accountId === DEFAULT_ACCOUNT_ID ? projectId : accountId;
}

/** The limits that an order for this name meets; `authority`: its directory, whose limits are its own. */
export function bucketsOf(
  { authority, budget }: { readonly authority: string; readonly budget: Budget },
  { kind, ...whose }: OrderOwner & { readonly kind: OrderKind },
): readonly Bucket[] {
  return countedFor[budget][kind].map((limit) => {
    const subject = subjectOf(limit, whose);
    return { limit, key: [limit, authority, subject].join(' ').trim() };
  });
}

/** Reads a stored key that `bucketsOf` made; null for one of another version. Never throws. */
export function bucketOf(key: string): Bucket | null {
  const [limit = ''] = key.split(' ');
  return isLimit(limit) ? { limit, key } : null;
}

/** Returns whose a bucket is: its authority's directory, and the subject as in `BudgetWait`. */
export function partsOfKey({ key }: Bucket): {
  readonly authority: string;
  readonly subject: string;
} {
  const [, authority = '', subject = ''] = key.split(' ');
  return { authority, subject };
}

function isLimit(text: string): text is AuthorityLimit {
  return Object.hasOwn(authorityLimits, text);
}

/** Let's Encrypt counts by the whole Public Suffix List: below a suffix of its private section everybody has their own. */
function subjectOf(limit: AuthorityLimit, { hostname, ...owner }: OrderOwner): string {
  if (limit === 'orders') return '';
  if (limit === 'account_orders') return sharerOf(owner);
  if (limit !== 'registrable_domain') return hostname;
  return getDomain(hostname, { allowPrivateDomains: true, extractHostname: false }) ?? hostname;
}

/** `window`: when the authority wants the certificate before this order replaced; null: not said. */
export function orderKind(
  previous: { readonly window: RenewalWindow | null } | null,
  now: Date,
): OrderKind {
  if (previous === null) return 'first';
  const { window } = previous;
  return window !== null && window.start <= now && now < window.end ? 'replacement' : 'renewal';
}

/** By the host of an authority's directory. Let's Encrypt's staging has far higher limits than its own. */
export function publishedBudget(host: string): Budget {
  const isLetsEncrypt = host === 'letsencrypt.org' || host.endsWith('.letsencrypt.org');
  return isLetsEncrypt && !host.startsWith('acme-staging') ? 'letsencrypt' : 'none';
}

/** Returns how many milliseconds it takes until one more token is there. */
export function refillMs(limit: AuthorityLimit): number {
  const { tokens, windowMs } = authorityLimits[limit];
  return windowMs / tokens;
}

/** From when a token is there to be taken; in the past where it is now. */
export function tokenAt(limit: AuthorityLimit, fullAt: Date): Date {
  const { tokens } = authorityLimits[limit];
  return new Date(fullAt.getTime() - (tokens - 1) * refillMs(limit));
}

/** Returns how many whole tokens are there now: 0 up to the limit. `fullAt`: when the bucket is full again. */
export function tokensLeft(limit: AuthorityLimit, fullAt: Date, now: Date): number {
  const { tokens } = authorityLimits[limit];
  const missing = Math.ceil(Math.max(0, fullAt.getTime() - now.getTime()) / refillMs(limit));
  return Math.max(0, tokens - missing);
}

/** The bucket after one token was taken, whether it was there or not. An account owes the others its whole share at most. */
export function afterTaking(limit: AuthorityLimit, fullAt: Date, now: Date): Date {
  const taken = Math.max(fullAt.getTime(), now.getTime()) + refillMs(limit);
  if (limit !== 'account_orders') return new Date(taken);
  return new Date(Math.min(taken, now.getTime() + authorityLimits[limit].windowMs));
}

/**
 * The bucket after the token that was taken at `takenAt` was given back. What has been refilled for it since then is there
 * already, so that never more comes out than the limit allows.
 */
export function afterGivingBack(
  limit: AuthorityLimit,
  fullAt: Date,
  { takenAt, now }: { readonly takenAt: Date; readonly now: Date },
): Date {
  const refilled = Math.max(0, now.getTime() - takenAt.getTime());
  return new Date(fullAt.getTime() - Math.max(0, refillMs(limit) - refilled));
}

/** From failed authorizations an order takes only once it is refused: before that there has to be one to lose. */
export function takesAtOnce({ limit }: Bucket): boolean {
  return limit !== 'failed_authorizations';
}

/** An order that has waited longer for its authority to answer is counted as a new one when it is placed. Our choice. */
const COUNTED_MS = 60_000;

/**
 * Of an order that is about to be placed: those from which a token is taken once more, because it was opened so long ago
 * that the token of then says nothing about now. An outage of a day would end with all of its orders within minutes.
 */
export function takenAgain(
  { buckets, createdAt }: { readonly buckets: readonly string[]; readonly createdAt: Date },
  now: Date,
): readonly Bucket[] {
  if (now.getTime() - createdAt.getTime() <= COUNTED_MS) return [];
  return buckets.flatMap((key) => bucketOf(key) ?? []).filter(({ limit }) => limit === 'orders');
}

/**
 * What a refusal gives back: the authority counts certificates when they are issued, we when they are ordered, so that
 * many orders at once keep to the limit, too. Orders count as orders.
 */
export function isGivenBack({ limit }: Bucket): boolean {
  return limit === 'registrable_domain' || limit === 'same_names';
}

/** What is known where tokens are asked for. */
export type BudgetState = {
  /** By key; a bucket that is missing is full. */
  readonly fullAt: ReadonlyMap<string, Date>;
  readonly now: Date;
  /** Whether other accounts wait for orders at the same authority. */
  readonly othersWait: boolean;
};

/** Returns the longest wait; null where each bucket has a token now. */
export function budgetWait(buckets: readonly Bucket[], state: BudgetState): BudgetWait | null {
  const { fullAt, now } = state;
  let last: BudgetWait | null = null;
  for (const { key, limit } of buckets) {
    const until =
      limit === 'account_orders'
        ? turnAt(key, buckets, state)
        : tokenAt(limit, fullAt.get(key) ?? now);
    if (until <= (last?.until ?? now)) continue;
    last = { limit, subject: partsOfKey({ key, limit }).subject, until };
  }
  return last;
}

/** While nobody else waits, an account takes what there is. */
function turnAt(key: string, buckets: readonly Bucket[], state: BudgetState): Date {
  const { fullAt, now, othersWait } = state;
  if (!othersWait) return now;
  const orders = buckets.find(({ limit }) => limit === 'orders');
  const left = tokensLeft('orders', (orders && fullAt.get(orders.key)) ?? now, now);
  const full = fullAt.get(key) ?? now;
  const used = authorityLimits.account_orders.tokens - tokensLeft('account_orders', full, now);
  return shareAt({ left, used, fullAt: full, refillMs: refillMs('account_orders'), now });
}

/** Whether it waits for what all share. */
export const isShared = ({ limit }: Pick<BudgetWait, 'limit'>): boolean =>
  limit === 'orders' || limit === 'account_orders';

/** The limit that keeps an order back from every authority in use; null where one of them takes it, or none is known. */
export function soonestWait(waits: readonly (BudgetWait | null)[]): BudgetWait | null {
  let soonest: BudgetWait | null = null;
  for (const wait of waits) {
    if (wait === null) return null;
    if (soonest === null || wait.until < soonest.until) soonest = wait;
  }
  return soonest;
}

const sentences: {
  readonly [L in AuthorityLimit]: (subject: string) => readonly [string, string];
} = {
  project_orders: () => ['new orders', 'for the domains of one project'],
  account_orders: () => ['new orders', 'for the domains of one account while others wait'],
  orders: () => ['new orders', 'for all domains of this installation together'],
  registrable_domain: (domain) => ['certificates', `for ${domain} and all names below it`],
  same_names: (hostname) => ['certificates', `for ${hostname}`],
  failed_authorizations: (hostname) => ['failed authorizations', `of ${hostname}`],
};

/** `50 certificates in 7 days for example.com and all names below it`. */
export function limitInWords({
  limit,
  subject,
}: {
  readonly limit: AuthorityLimit;
  readonly subject: string;
}): string {
  const { tokens, windowMs } = authorityLimits[limit];
  const [what, whose] = sentences[limit](subject);
  return `${tokens} ${what} in ${inHours(windowMs / 3_600_000)} ${whose}`;
}

function inHours(hours: number): string {
  if (hours >= 48) return `${hours / 24} days`;
  return hours === 1 ? 'an hour' : `${hours} hours`;
}
