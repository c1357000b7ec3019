/** A project's domain settings as schemas, exactly the shape of the interface document, part 1; and HSTS of one domain. */
import { z } from 'zod';
import { REDIRECTS_MAX, redirectStatuses } from '../../core/names/redirects.ts';
import { hstsMaxAge, mayPreload } from '../../core/operations/edge-route.ts';
import { wholeNumber } from '../pipeline/json.ts';

/** A host name in a request. It may be longer than any name, because a URL may be pasted. */
const typed = (description: string) => z.string().max(2_048, 'is too long').meta({ description });
/** A host name in an answer: A-labels, lower case. */
const stored = (description: string) => z.string().meta({ description });

const statusWords = `HTTP redirect status: ${redirectStatuses.join(', ')}; 301 is the usual one`;
/**
 * Any status of HTTP passes here; the rules of redirects (src/core/names/redirects.ts) refuse the others by a code of their
 * own.
 */
const status = () =>
  wholeNumber({
    min: 100,
    max: 599,
    words: `must be a number without quotes, one of ${redirectStatuses.join(', ')}`,
  }).meta({ description: statusWords });

const primaryWords = 'The main domain; null where none is chosen';
const redirectsWords = `In the order in which they were given; at most ${REDIRECTS_MAX}`;

/** One redirect of a request; the rules see the names as they are stored. */
const newRedirect = z
  .strictObject({
    from: typed('Domain that redirects, in any spelling'),
    to: typed('Target domain, in any spelling'),
    status: status(),
  })
  .meta({ id: 'NewRedirect', description: 'One domain that is to redirect to another' });

/**
 * Body of `PUT /v1/projects/{projectId}/domain-settings`. It is whole: what it leaves out is not kept. Rules between entries
 * are checked where the domains are known (src/core/names/redirects.ts).
 */
export const newDomainSettings = z
  .strictObject({
    domains: z.strictObject({
      primary: z.nullable(typed(primaryWords)),
      redirects: z.array(newRedirect).meta({ description: redirectsWords }),
    }),
  })
  .meta({ id: 'NewDomainSettings', description: 'The settings to put in the place of all others' });

/** A stored redirect; the event of a domain's removal has those that ended with it. */
export const redirect = z
  .object({
    from: stored('Domain that redirects'),
    to: stored('Target domain'),
    status: status(),
  })
  .meta({ id: 'Redirect', description: 'One domain that redirects to another of the project' });

/** Answer of `GET` and `PUT`. Host names are A-labels in lower case. */
export const domainSettings = z
  .object({
    domains: z.object({
      primary: z.nullable(stored(primaryWords)),
      redirects: z.array(redirect).meta({ description: redirectsWords }),
    }),
  })
  .meta({
    id: 'DomainSettings',
    description: "Which of a project's domains is the main one, and which redirect",
  });

const maxAge = wholeNumber({ min: 0, max: hstsMaxAge.most }).meta({
  description:
    'For how many seconds browsers reach the domain over HTTPS alone; 0 tells them to forget it',
});
const subdomainsWords =
  'Whether it binds every name below the domain, also names that lead elsewhere than here';
const preloadWords =
  'Whether browsers may have it in a list of their own, from which nobody comes off within months';

/** Body of `PUT /v1/projects/{projectId}/domains/{hostname}/hsts`. What it leaves out is false. */
export const newHsts = z
  .strictObject({
    maxAge,
    includeSubdomains: z.boolean().default(false).meta({ description: subdomainsWords }),
    preload: z.boolean().default(false).meta({ description: preloadWords }),
  })
  .refine(mayPreload, {
    path: ['preload'],
    error: `needs includeSubdomains, and a maxAge of at least ${hstsMaxAge.leastToPreload} (a year)`,
  })
  .meta({ id: 'NewHsts', description: 'HSTS of a domain, in the place of what it had' });

/** HSTS of a domain as it is stored. */
export const hsts = z
  .object({
    maxAge,
    includeSubdomains: z.boolean().meta({ description: subdomainsWords }),
    preload: z.boolean().meta({ description: preloadWords }),
  })
  .meta({
    id: 'Hsts',
    description: '`Strict-Transport-Security` (RFC 6797) of every answer over HTTPS',
  });

/** The example of the OpenAPI document: a month, and nothing but the domain itself. */
export const docsHsts = { maxAge: 2_592_000, includeSubdomains: false, preload: false };

/** Query of the removal of a domain. `orphans` missing: a domain that settings lead to is not removed. */
export const removalQuery = z.strictObject({
  orphans: z
    .enum(['drop'], {
      error:
        'takes one value, drop, which removes the domain settings that lead to the domain together with it; left out, such a domain is not removed',
    })
    .optional()
    .meta({ description: 'Drops what of the domain settings leads to the domain, too' }),
});

/** The example of the OpenAPI document, for the body and the answer. */
export const docsDomainSettings = {
  domains: {
    primary: 'docs.example.com',
    redirects: [{ from: 'help.example.com', to: 'docs.example.com', status: 301 }],
  },
};
