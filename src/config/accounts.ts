/** What an account may have unless it has limits of its own, and the plans of its projects. */
import { z } from 'zod';
import type { AccountLimits } from '../core/accounts/limits.ts';
import { type Plan, plans } from '../core/records.ts';
import { count, list } from './values.ts';

/** What holds for every account. */
export type AccountsConfig = {
  /** Of an account without its own. */
  readonly limits: AccountLimits;
  /** Those that its keys may put a project on; `free` is one of them. */
  readonly plans: readonly Plan[];
};

/** Its variables, each checked by itself. */
export const accountVariables = {
  ACCOUNT_DOMAINS: count('domains').default(1_000),
  ACCOUNT_ADDITIONS_PER_HOUR: count('domains an hour').default(300),
  ACCOUNT_PROJECTS: count('projects').default(100),
  ACCOUNT_KEYS: count('keys').default(100),
  ACCOUNT_WEBHOOKS: count('webhooks').default(100),
  ACCOUNT_STREAMS: count('streams').default(100),
  ACCOUNT_DIAGNOSES: count('diagnoses').default(2),
  ACCOUNT_REQUESTS_PER_MINUTE: count('requests a minute').default(6_000),
  ACCOUNT_PLANS: list(z.enum(plans, `must be plans: ${plans.join(', ')}`)).default([...plans]),
};

/** Returns what the variables give. */
export function accountsOf(v: z.infer<z.ZodObject<typeof accountVariables>>): AccountsConfig {
  return {
    limits: {
      domains: v.ACCOUNT_DOMAINS,
      additionsPerHour: v.ACCOUNT_ADDITIONS_PER_HOUR,
      projects: v.ACCOUNT_PROJECTS,
      keys: v.ACCOUNT_KEYS,
      webhooks: v.ACCOUNT_WEBHOOKS,
      streams: v.ACCOUNT_STREAMS,
      diagnoses: v.ACCOUNT_DIAGNOSES,
      requestsPerMinute: v.ACCOUNT_REQUESTS_PER_MINUTE,
    },
    plans: plans.filter((plan) => plan === 'free' || v.ACCOUNT_PLANS.includes(plan)),
  };
}
