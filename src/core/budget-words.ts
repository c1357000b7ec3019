/** A limit of a certificate authority in words, for whoever waits for it. */
import { type AuthorityLimit, authorityLimits } from './authority-budget.ts';

const sentences: {
  readonly [L in AuthorityLimit]: (subject: string) => readonly [string, string];
} = {
  project_orders: () => ['new orders', 'for the domains of one project'],
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
