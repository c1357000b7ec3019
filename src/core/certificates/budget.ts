/** Rate limits of CAs: token buckets, stored as the time at which each is full again (GCRA). */

import { getDomain } from 'tldts';
import { DAY, HOUR, MINUTE } from '../time.ts';
import type { RenewalWindow } from './renewal-information.ts';

/**
 * Let's Encrypt's limits (letsencrypt.org/docs/rate-limits, read 2026-08-05). A bucket holds
 * `tokens` and refills evenly within `windowMs`.
 */
export const authorityLimits = {
  orders: { tokens: 300, windowMs: 3 * HOUR },
  /**
   * Signpost's own limit: how many of `orders` each account recently took (budget-wait.ts). A token
   * refills in 19 minutes. In that time, `orders` refills 32, so up to 32 accounts take turns exactly.
   */
  account_share: { tokens: 75, windowMs: DAY },
  project_share: { tokens: 75, windowMs: DAY },
  /** Certificates for a registrable domain and all names below it. */
  registrable_domain: { tokens: 50, windowMs: 7 * DAY },
  /** Certificates for exactly the same set of names; every order is for one name. */
  same_names: { tokens: 5, windowMs: 7 * DAY },
  failed_authorizations: { tokens: 5, windowMs: HOUR },
} as const satisfies Readonly<
  Record<string, { readonly tokens: number; readonly windowMs: number }>
>;

export type AuthorityLimit = keyof typeof authorityLimits;

export type ShareLimit = 'account_share' | 'project_share';

export function isShare(limit: AuthorityLimit): limit is ShareLimit {
  return limit === 'account_share' || limit === 'project_share';
}

/** `plain`: placed without `replaces` although opened with it, so a renewal's limits apply. */
export type PlacedAs = 'opened' | 'plain';

/** `none`: no published limits; only five refusals of a name per hour. */
export type BudgetName = 'letsencrypt' | 'none';

/**
 * `renewal`: at the same CA; the limits for orders and the registrable domain don't apply.
 * `replacement`: ordered with `replaces` (RFC 9773, 5) within the CA's window; no limit applies.
 */
export type OrderKind = 'first' | 'renewal' | 'replacement';

export type Bucket = {
  /** Limit, CA and subject, separated by spaces. */
  readonly key: string;
  readonly limit: AuthorityLimit;
};

export type BudgetWait = {
  readonly limit: AuthorityLimit;
  /** A host name, a registrable domain, or an ID of an account or a project; empty for `orders`. */
  readonly subject: string;
  readonly until: Date;
};

const countedFor: Readonly<
  Record<BudgetName, Readonly<Record<OrderKind, readonly AuthorityLimit[]>>>
> = {
  letsencrypt: {
    first: [
      'failed_authorizations',
      'orders',
      'account_share',
      'project_share',
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

export type OrderOwner = {
  readonly hostname: string;
  readonly projectId: string;
  readonly accountId: string;
};

/** `authority`: the CA's directory; each CA has its own buckets. */
export function bucketsOf(
  { authority, budget }: { readonly authority: string; readonly budget: BudgetName },
  { kind, ...whose }: OrderOwner & { readonly kind: OrderKind },
): readonly Bucket[] {
  return countedFor[budget][kind].map((limit) => {
    const subject = subjectOf(limit, whose);
    return { limit, key: [limit, authority, subject].join(' ').trim() };
  });
}

/** Null for an unknown limit. Never throws. */
export function bucketOf(key: string): Bucket | null {
  const [limit = ''] = key.split(' ');
  return isLimit(limit) ? { limit, key } : null;
}

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

/** Let's Encrypt counts each name below a private suffix separately. */
function subjectOf(limit: AuthorityLimit, { hostname, projectId, accountId }: OrderOwner): string {
  if (limit === 'orders') return '';
  if (limit === 'account_share') return accountId;
  if (limit === 'project_share') return projectId;
  if (limit !== 'registrable_domain') return hostname;
  return getDomain(hostname, { allowPrivateDomains: true, extractHostname: false }) ?? hostname;
}

/** `window`: the CA's renewal window for the previous certificate. */
export function orderKind(
  previous: { readonly window: RenewalWindow | null } | null,
  now: Date,
): OrderKind {
  if (previous === null) return 'first';
  const { window } = previous;
  return window !== null && window.start <= now && now < window.end ? 'replacement' : 'renewal';
}

/** Let's Encrypt's staging host has far higher limits, so it counts as `none`. */
export function publishedBudget(host: string): BudgetName {
  const isLetsEncrypt = host === 'letsencrypt.org' || host.endsWith('.letsencrypt.org');
  return isLetsEncrypt && !host.startsWith('acme-staging') ? 'letsencrypt' : 'none';
}

export function refillMs(limit: AuthorityLimit): number {
  const { tokens, windowMs } = authorityLimits[limit];
  return windowMs / tokens;
}

/** In the past: available now. */
export function tokenAt(limit: AuthorityLimit, fullAt: Date): Date {
  const { tokens } = authorityLimits[limit];
  return new Date(fullAt.getTime() - (tokens - 1) * refillMs(limit));
}

/** `fullAt`: when the bucket is full again. */
export function tokensLeft(limit: AuthorityLimit, fullAt: Date, now: Date): number {
  const { tokens } = authorityLimits[limit];
  return Math.max(0, tokens - Math.ceil(tokensMissing(limit, fullAt, now)));
}

/** With the fraction that is not refilled yet. */
export function tokensMissing(limit: AuthorityLimit, fullAt: Date, now: Date): number {
  return Math.max(0, fullAt.getTime() - now.getTime()) / refillMs(limit);
}

/** Takes a token even from an empty bucket; an empty share stays empty. */
export function afterTaking(limit: AuthorityLimit, fullAt: Date, now: Date): Date {
  const after = Math.max(fullAt.getTime(), now.getTime()) + refillMs(limit);
  const longest = now.getTime() + authorityLimits[limit].windowMs;
  return new Date(isShare(limit) ? Math.min(after, longest) : after);
}

/** Subtracts what was refilled since `takenAt`: the bucket never exceeds its limit. */
export function afterGivingBack(
  limit: AuthorityLimit,
  fullAt: Date,
  { takenAt, now }: { readonly takenAt: Date; readonly now: Date },
): Date {
  const refilled = Math.max(0, now.getTime() - takenAt.getTime());
  return new Date(fullAt.getTime() - Math.max(0, refillMs(limit) - refilled));
}

/** A failed authorization takes its token when the CA refuses, not when the order is opened. */
export function takesAtOnce({ limit }: Bucket): boolean {
  return limit !== 'failed_authorizations';
}

/** An order that is placed later than this after it was opened takes another token. */
const COUNTED_MS = MINUTE;

/** Buckets refilled since the order was opened: after an outage, this spreads the open orders. */
export function takenAgain(
  { buckets, createdAt }: { readonly buckets: readonly string[]; readonly createdAt: Date },
  now: Date,
): readonly Bucket[] {
  if (now.getTime() - createdAt.getTime() <= COUNTED_MS) return [];
  return buckets
    .flatMap((key) => bucketOf(key) ?? [])
    .filter(({ limit }) => limit === 'orders' || isShare(limit));
}

/** The CA counts certificates at issuance, Signpost at the order. */
export function isGivenBack({ limit }: Bucket): boolean {
  return limit === 'registrable_domain' || limit === 'same_names';
}

/** Null if one CA accepts the order now, or `waits` is empty. */
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
  account_share: () => ['new orders', shareInWords('account')],
  project_share: () => ['new orders', shareInWords('project')],
  orders: () => ['new orders', 'for all domains of this installation together'],
  registrable_domain: (domain) => ['certificates', `for ${domain} and all names below it`],
  same_names: (hostname) => ['certificates', `for ${hostname}`],
  failed_authorizations: (hostname) => ['failed authorizations', `of ${hostname}`],
};

function shareInWords(owner: 'account' | 'project'): string {
  return `for all ${owner}s together, and one ${owner} gets a quarter of what is left while others wait`;
}

/** `50 certificates in 7 days for example.com and all names below it`. */
export function limitInWords({
  limit,
  subject,
}: {
  readonly limit: AuthorityLimit;
  readonly subject: string;
}): string {
  const { tokens, windowMs } = authorityLimits[isShare(limit) ? 'orders' : limit];
  const [what, whose] = sentences[limit](subject);
  return `${tokens} ${what} in ${inHours(windowMs / HOUR)} ${whose}`;
}

function inHours(hours: number): string {
  if (hours >= 48) return `${hours / 24} days`;
  return hours === 1 ? 'an hour' : `${hours} hours`;
}
