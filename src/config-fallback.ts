/** The settings of the second certificate authority, which stands in for the first (src/core/choose-authority.ts). */
import { z } from 'zod';
import { base64url, hostName, list, url } from './config-values.ts';

export type FallbackAuthority = {
  readonly directoryUrl: string;
  /** PEM to trust for the directory. */
  readonly caFile: string | undefined;
  /** The account there that ours belongs to (RFC 8555, 7.3.4). */
  readonly externalAccount: { readonly kid: string; readonly hmacKey: Uint8Array } | undefined;
  readonly profile: string | undefined;
  /** Its CAA identities, lower case. */
  readonly issuerDomains: readonly [string, ...string[]];
};

export const fallbackVariables = {
  ACME_FALLBACK_DIRECTORY_URL: url(['https:']).optional(),
  ACME_FALLBACK_CA_FILE: z.string().optional(),
  ACME_FALLBACK_EAB_KID: z.string().optional(),
  ACME_FALLBACK_EAB_HMAC_KEY: base64url.optional(),
  ACME_FALLBACK_PROFILE: z.string().optional(),
  ACME_FALLBACK_ISSUER_DOMAINS: list(hostName).optional(),
};

type Variables = z.infer<z.ZodObject<typeof fallbackVariables>>;
type Rule = readonly [isWrong: boolean, variable: string, problem: string];

/** What is wrong although each variable by itself is right. */
export function fallbackRules(given: Readonly<Record<string, string>>): readonly Rule[] {
  const {
    ACME_DIRECTORY_URL: first,
    ACME_FALLBACK_DIRECTORY_URL: second,
    ACME_FALLBACK_EAB_KID: kid,
    ACME_FALLBACK_EAB_HMAC_KEY: hmacKey,
  } = given;
  const besides = Object.keys(fallbackVariables).filter((name) => !name.endsWith('DIRECTORY_URL'));
  return [
    [
      second !== undefined && first === undefined,
      'ACME_FALLBACK_DIRECTORY_URL',
      'needs ACME_DIRECTORY_URL beside it',
    ],
    [
      second !== undefined && isSameUrl(first, second),
      'ACME_FALLBACK_DIRECTORY_URL',
      'must be another directory than ACME_DIRECTORY_URL',
    ],
    [
      second !== undefined && given['ACME_FALLBACK_ISSUER_DOMAINS'] === undefined,
      'ACME_FALLBACK_ISSUER_DOMAINS',
      'is missing: how CAA records name the certificate authority of ACME_FALLBACK_DIRECTORY_URL',
    ],
    ...besides.map(
      (name): Rule => [
        given[name] !== undefined && second === undefined,
        name,
        'needs ACME_FALLBACK_DIRECTORY_URL beside it',
      ],
    ),
    [
      (kid === undefined) !== (hmacKey === undefined),
      kid === undefined ? 'ACME_FALLBACK_EAB_KID' : 'ACME_FALLBACK_EAB_HMAC_KEY',
      'is missing: ACME_FALLBACK_EAB_KID and ACME_FALLBACK_EAB_HMAC_KEY are set together, or neither',
    ],
  ];
}

/** Undefined where there is no second authority. */
export function fallbackOf(v: Variables): FallbackAuthority | undefined {
  const [issuer, ...more] = v.ACME_FALLBACK_ISSUER_DOMAINS ?? [];
  if (v.ACME_FALLBACK_DIRECTORY_URL === undefined || issuer === undefined) return undefined;
  const { ACME_FALLBACK_EAB_KID: kid, ACME_FALLBACK_EAB_HMAC_KEY: hmacKey } = v;
  return {
    directoryUrl: v.ACME_FALLBACK_DIRECTORY_URL,
    caFile: v.ACME_FALLBACK_CA_FILE,
    externalAccount: kid === undefined || hmacKey === undefined ? undefined : { kid, hmacKey },
    profile: v.ACME_FALLBACK_PROFILE,
    issuerDomains: [issuer, ...more],
  };
}

/** However it is written: the account is kept by the URL, and one authority cannot stand in for itself. */
function isSameUrl(one: string | undefined, other: string): boolean {
  if (one === undefined || !URL.canParse(one) || !URL.canParse(other)) return one === other;
  return new URL(one).href === new URL(other).href;
}
