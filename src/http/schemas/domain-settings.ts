import { z } from 'zod';
import { REDIRECTS_MAX, redirectStatuses } from '../../core/names/redirects.ts';
import { hstsMaxAge, mayPreload } from '../../core/operations/edge-route.ts';
import { wholeNumber } from '../pipeline/json.ts';
import { component, requestComponent } from './common.ts';

/** Longer than any name, because users paste URLs. */
const typed = (description: string) => z.string().max(2_048, 'is too long').describe(description);
/** A-labels, lower case. */
const stored = (description: string) => z.string().describe(description);

const statusWords = `HTTP redirect status: ${redirectStatuses.join(', ')}; use 301 if unsure`;
/** Accepts any HTTP status. src/core/names/redirects.ts rejects others with a specific code. */
const status = () =>
  wholeNumber({
    min: 100,
    max: 599,
    words: `must be an unquoted number, one of ${redirectStatuses.join(', ')}`,
  }).describe(statusWords);

const primaryWords = 'The primary domain; null if none is chosen';
const redirectsWords = `In the order of the request; at most ${REDIRECTS_MAX}`;

const newRedirect = requestComponent('NewRedirect', 'A redirect from one domain to another', {
  from: typed('Domain that redirects, in any spelling'),
  to: typed('Target domain, in any spelling'),
  status: status(),
});

/** Replaces all settings. src/core/names/redirects.ts checks the rules between entries. */
export const newDomainSettings = requestComponent(
  'NewDomainSettings',
  'Domain settings that replace the current ones',
  {
    domains: z.strictObject({
      primary: z.nullable(typed(primaryWords)),
      redirects: z.array(newRedirect).describe(redirectsWords),
    }),
  },
);

/** The event for a removed domain lists the redirects removed with it. */
export const redirect = component('Redirect', 'A redirect between two domains of the project', {
  from: stored('Domain that redirects'),
  to: stored('Target domain'),
  status: status(),
});

/** Host names are A-labels in lower case. */
export const domainSettings = component(
  'DomainSettings',
  "A project's primary domain and redirects",
  {
    domains: z.object({
      primary: z.nullable(stored(primaryWords)),
      redirects: z.array(redirect).describe(redirectsWords),
    }),
  },
);

const maxAge = wholeNumber({ min: 0, max: hstsMaxAge.most }).describe(
  'How long browsers use only HTTPS for the domain, in seconds; 0 ends it',
);
const subdomainsWords = 'Applies the policy to all subdomains, including those not served here';
const preloadWords =
  'Allows browsers to preload the domain; removal from the preload list takes months';

/** Omitted fields are false. */
export const newHsts = z
  .strictObject({
    maxAge,
    includeSubdomains: z.boolean().default(false).describe(subdomainsWords),
    preload: z.boolean().default(false).describe(preloadWords),
  })
  .refine(mayPreload, {
    path: ['preload'],
    error: `requires includeSubdomains and a maxAge of at least ${hstsMaxAge.leastToPreload} (a year)`,
  })
  .meta({ id: 'NewHsts', description: "HSTS policy that replaces the domain's current one" });

export const hsts = component(
  'Hsts',
  '`Strict-Transport-Security` header of every HTTPS response (RFC 6797)',
  {
    maxAge,
    includeSubdomains: z.boolean().describe(subdomainsWords),
    preload: z.boolean().describe(preloadWords),
  },
);

export const docsHsts = { maxAge: 2_592_000, includeSubdomains: false, preload: false };

/** Without `orphans`, a domain that settings point to is not removed. */
export const removalQuery = z.strictObject({
  orphans: z
    .enum(['drop'], {
      error: 'must be drop',
    })
    .optional()
    .describe('Use `drop` to also remove the settings that point to the domain'),
});

export const docsDomainSettings = {
  domains: {
    primary: 'docs.example.com',
    redirects: [{ from: 'help.example.com', to: 'docs.example.com', status: 301 }],
  },
};
