import { z } from 'zod';
import { problemTypes } from '../../core/certificates/problem-words.ts';
import type { BrowserState, ShownOutcome } from '../../core/certificates/served.ts';
import { time } from '../pipeline/json.ts';
import { actor, component, explainedEnum, sentence } from './common.ts';

/** The texts are in src/core/certificates/problem-words.ts. */
export const problemType = z.enum(problemTypes).meta({
  id: 'ProblemType',
  description: 'ACME problem type reported by the certificate authority (RFC 8555, 6.7)',
});

/** `issuer` and `names` describe the certificate that the address served. */
const addressShown = component('AddressShown', 'Certificate served by one address of the domain', {
  address: z.string().describe('IPv4 or IPv6 address that the name resolves to'),
  outcome: explainedEnum('ShownOutcome', 'Result of a TLS handshake with the address', {
    ours: 'It serves the stored certificate',
    ours_before: 'It serves an earlier certificate of ours',
    other: 'It serves a different certificate',
    no_certificate: 'It ended the handshake without a certificate',
    refused: 'It refused the connection',
    timeout: 'It did not answer in time',
    no_route: 'No network route from this server; the address itself can be fine',
    reserved: 'A reserved address, unreachable from the internet; it was not tried',
  } satisfies Readonly<Record<ShownOutcome, string>>),
  issuer: z
    .nullable(z.string())
    .describe("The served certificate's issuer: common name, or organization if it has none"),
  names: z.array(z.string()).describe('The first five names in that certificate'),
});

const shown = component('Shown', "Result of the last check of the domain's addresses", {
  checkedAt: time(),
  addresses: z.array(addressShown).describe('The checked addresses, at most eight'),
});

/** Built by src/core/certificates/served.ts from stored data. */
const browser = component(
  'Browser',
  'Explains browser warnings at the domain, based on the last check',
  {
    state: explainedEnum('BrowserState', 'What a browser sees at the domain', {
      no_certificate_yet: 'No certificate yet, so secure connections fail',
      served: 'The certificate is served',
      may_be_cached: 'The certificate is served; some visitors still get cached DNS answers',
      other_certificate: 'An address of the domain serves a different certificate',
      not_shown: 'An address of the domain serves no certificate or cannot be reached',
      not_reaching_us: 'Browsers reach another server or none',
    } satisfies Readonly<Record<BrowserState, string>>),
    summary: sentence('What a browser warning means and how to fix it'),
    shown: z
      .nullable(shown)
      .describe(
        'When the domain was last checked; null if not checked since the certificate was issued',
      ),
  },
);

const renewal = component('Renewal', 'Planned renewal of a certificate', {
  plannedAt: time().describe('When renewal is planned; follows the window'),
  window: z
    .nullable(z.object({ start: time(), end: time() }))
    .describe("The CA's suggested renewal window (RFC 9773); null if the CA suggests none"),
  explanationUrl: z.nullable(z.string()).describe("The CA's page explaining the window"),
});

/** `issuedAt`, `expiresAt` and `issuer` are null if no certificate is stored or it has expired. */
export const certificate = component('Certificate', 'Certificate of a domain', {
  status: explainedEnum('CertificateStatus', 'Status of the certificate', {
    none: 'None was ordered yet',
    ordering: 'An order is in progress',
    issued: 'A valid certificate is stored',
    failed: 'The last order failed',
  }),
  issuedAt: z.nullable(time()),
  expiresAt: z.nullable(time()),
  issuer: z.nullable(z.string()),
  nextAttemptAt: z.nullable(time()).describe('Time of the next attempt'),
  problem: z
    .nullable(
      z.object({
        type: problemType,
        detail: sentence('Message from the certificate authority'),
        summary: sentence('What it means'),
        action: sentence('What to do'),
        actor,
      }),
    )
    .describe('Why the newest order failed; if a certificate is stored, this is about its renewal'),
  renewal: z
    .nullable(renewal)
    .describe('Null unless the domain is live; only live domains are renewed'),
  browser,
});

/** The root that clients on test machines can trust. */
export const localCa = component('LocalCa', 'Root certificate of the local CA', {
  certificate: z.nullable(z.string()).describe('The root certificate in PEM'),
  name: z.nullable(z.string()).describe('Its common name; each installation has another'),
  fingerprint: z.nullable(z.string()).describe('SHA-256, in hex with colons'),
  expiresAt: z.nullable(time()),
});

export const docsLocalCa = {
  certificate: '-----BEGIN CERTIFICATE-----\n…\n-----END CERTIFICATE-----\n',
  name: 'Signpost local authority 1f2a9c04',
  fingerprint: 'A1:B2:C3:D4:E5:F6:…',
  expiresAt: '2036-11-18T12:00:00.000Z',
};
