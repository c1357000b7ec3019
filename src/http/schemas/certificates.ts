/** What the API says of a domain's certificate, and of what its addresses show. */
import { z } from 'zod';
import { problemTypes } from '../../core/certificates/problem-words.ts';
import type { BrowserState, ShownOutcome } from '../../core/certificates/served.ts';
import { time } from '../pipeline/json.ts';
import { actor, explainedEnum, sentence } from './common.ts';

/** Each type has words in src/core/certificates/problem-words.ts. */
export const problemType = z
  .enum(problemTypes)
  .meta({ id: 'ProblemType', description: 'Why a certificate authority said no (RFC 8555, 6.7)' });

/** One address of the host name; `issuer` and `names` are of the certificate that it showed. */
const addressShown = z
  .object({
    address: z.string().meta({ description: 'IPv4 or IPv6, as the name resolves' }),
    outcome: explainedEnum('ShownOutcome', 'What a TLS handshake with an address came to', {
      ours: 'It shows the certificate that is stored',
      ours_before: 'It shows one that was stored before',
      other: 'It shows another certificate',
      no_certificate: 'It ended the handshake without a certificate',
      refused: 'It refused the connection',
      timeout: 'It did not answer in time',
      no_route: 'There was no way to it from here, which says nothing about it',
      reserved: 'Nobody on the internet has this address, so it was not tried',
    } satisfies Readonly<Record<ShownOutcome, string>>),
    issuer: z.nullable(z.string()).meta({
      description: 'Of the certificate that it shows: the common name, else the organisation',
    }),
    names: z
      .array(z.string())
      .meta({ description: 'What that certificate is for, the first five' }),
  })
  .meta({ id: 'AddressShown', description: 'What an address of the domain shows' });

/** The last check of the domain's addresses; `browser` may rest on it. */
const shown = z
  .object({
    checkedAt: time(),
    addresses: z.array(addressShown).meta({ description: 'At most eight' }),
  })
  .meta({
    id: 'Shown',
    description: 'What the addresses of the domain showed when the service last checked',
  });

/** Made by src/core/certificates/served.ts from what is stored, without asking anybody. */
const browser = z
  .object({
    state: explainedEnum('BrowserState', 'What a browser meets at the domain', {
      no_certificate_yet: 'There is none: it gets no secure connection',
      served: 'The certificate is served',
      may_be_cached: 'It is served; some may still go by what was there before',
      other_certificate: 'An address of the domain shows another certificate',
      not_shown: 'An address of the domain shows none, or cannot be reached',
      not_reaching_us: 'It comes to another server, or to none',
    } satisfies Readonly<Record<BrowserState, string>>),
    summary: sentence('What a warning means, and what to do about it'),
    shown: z.nullable(shown).meta({
      description: 'What it rests on; null where nothing was checked since the certificate came',
    }),
  })
  .meta({
    id: 'Browser',
    description:
      "What a browser's warning at the domain means, by the last check and what was shown then",
  });

/** Of the certificate that the domain has. */
const renewal = z
  .object({
    plannedAt: time().meta({
      description: 'When it is tried; earlier or later where the window moves',
    }),
    window: z.nullable(z.object({ start: time(), end: time() })).meta({
      description:
        'In which the certificate authority wants it (RFC 9773); null where it has not said',
    }),
    explanationUrl: z
      .nullable(z.string())
      .meta({ description: "The certificate authority's page on why the window is what it is" }),
  })
  .meta({ id: 'Renewal', description: 'The renewal of a certificate' });

/**
 * Part of a Domain. `issuedAt`, `expiresAt` and `issuer` are those of the stored certificate; null where there is none, or
 * it has expired.
 */
export const certificate = z
  .object({
    status: explainedEnum('CertificateStatus', 'How far the certificate is', {
      none: 'None was ordered yet',
      ordering: 'It is ordered',
      issued: 'It is stored, and has not ended',
      failed: 'The last order was refused',
    }),
    issuedAt: z.nullable(time()),
    expiresAt: z.nullable(time()),
    issuer: z.nullable(z.string()),
    nextAttemptAt: z.nullable(time()).meta({ description: 'When it is worked on next' }),
    problem: z
      .nullable(
        z.object({
          type: problemType,
          detail: sentence("The certificate authority's own words"),
          summary: sentence('What it means'),
          action: sentence('What to do'),
          actor,
        }),
      )
      .meta({
        description: 'Why the newest order was refused; beside a certificate, that of its renewal',
      }),
    renewal: z
      .nullable(renewal)
      .meta({ description: 'Null unless the domain is live: nothing else is renewed' }),
    browser,
  })
  .meta({ id: 'Certificate', description: 'The certificate of a domain' });
