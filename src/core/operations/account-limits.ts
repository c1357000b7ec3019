/** How much an account can have, so that one customer cannot use up the installation. */
import { DEFAULT_ACCOUNT_ID } from '../records.ts';

/** Counted in the database, in the order of the API. */
const countedLimits = ['domains', 'domainsPerHour', 'projects', 'keys', 'webhooks'] as const;
export type CountedLimit = (typeof countedLimits)[number];

/** Counted by each process. */
const processLimits = ['streams', 'diagnoses', 'requestsPerMinute'] as const;

export const accountLimitNames = [...countedLimits, ...processLimits] as const;
export type AccountLimitName = (typeof accountLimitNames)[number];

/** Unless ACCOUNT_LIMITS or the account has others. */
export const usualAccountLimits: Readonly<Record<AccountLimitName, number>> = {
  domains: 1_000,
  domainsPerHour: 300,
  projects: 100,
  keys: 50,
  webhooks: 100,
  streams: 50,
  diagnoses: 2,
  requestsPerMinute: 6_000,
};

/** Null: no limit. */
export type AccountLimits = { readonly [N in AccountLimitName]: number | null };

export const noLimits: AccountLimits = fromNames(() => null);

/** `stored`: the account's own limits, as JSON. The default account has no others. */
export function limitsOf(
  { id, limits: stored }: { readonly id: string; readonly limits: unknown },
  usual: Readonly<Record<AccountLimitName, number>>,
): AccountLimits {
  const own = stored as Partial<Record<AccountLimitName, number>>; // only written by the API
  return fromNames((name) => own[name] ?? (id === DEFAULT_ACCOUNT_ID ? null : usual[name]));
}

function fromNames(limitFor: (name: AccountLimitName) => number | null): AccountLimits {
  const entries = accountLimitNames.map((name) => [name, limitFor(name)] as const);
  return Object.fromEntries(entries) as AccountLimits; // one entry per name
}
