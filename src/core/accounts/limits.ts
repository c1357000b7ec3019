/** How much of the service one account may take. Null in a field: as much as it likes. */

/** Every limit, by its name in the API. */
export const limitNames = [
  'domains',
  'additionsPerHour',
  'projects',
  'keys',
  'webhooks',
  'streams',
  'diagnoses',
  'requestsPerMinute',
] as const;
/** One of `limitNames`. */
export type LimitName = (typeof limitNames)[number];

/** The limits that hold for an account. */
export type AccountLimits = { readonly [Name in LimitName]: number | null };
/** Nothing is limited. */
export const noLimits: AccountLimits = {
  domains: null,
  additionsPerHour: null,
  projects: null,
  keys: null,
  webhooks: null,
  streams: null,
  diagnoses: null,
  requestsPerMinute: null,
};
/** What an account is allowed instead of the configured limits; a field that is missing follows those. */
export type LimitOverrides = { readonly [Name in LimitName]?: number | null };

/** The limits of an account, from the configured ones and what is stored of its own. Stored JSON that fits nothing is ignored. */
export function limitsOf(stored: unknown, configured: AccountLimits): AccountLimits {
  const own = overridesOf(stored);
  return Object.fromEntries(
    limitNames.map((name) => [name, name in own ? own[name] : configured[name]]),
  ) as AccountLimits;
}

/** The fields of stored JSON that are limits. */
function overridesOf(stored: unknown): LimitOverrides {
  if (typeof stored !== 'object' || stored === null) return {};
  const known = Object.entries(stored).filter(
    ([name, value]) => isLimitName(name) && (value === null || isCount(value)),
  );
  return Object.fromEntries(known);
}

function isLimitName(name: string): name is LimitName {
  return limitNames.some((known) => known === name);
}

function isCount(value: unknown): boolean {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}
