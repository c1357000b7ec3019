/** Rules for combinations of settings, and the settings of the second CA. */
import { z } from 'zod';
import { edgeRules } from './edge.ts';
import { base64url, hostName, listOf, url } from './values.ts';

/** It uses the contact and ports of the first CA. */
export type FallbackAuthority = {
  readonly directoryUrl: string;
  /** PEM to trust for the directory. */
  readonly caFile: string | undefined;
  /** The CA's external account to bind ours to (RFC 8555, section 7.3.4). */
  readonly externalAccount: { readonly kid: string; readonly hmacKey: Uint8Array } | undefined;
  /** Missing: the CA's default. */
  readonly profile: string | undefined;
  /** CAA identities, lowercase. */
  readonly issuerDomains: readonly [string, ...string[]];
};

/** Each validated on its own. `fallbackRules` checks combinations. */
export const fallbackVariables = {
  ACME_FALLBACK_DIRECTORY_URL: url(['https:']).optional(),
  ACME_FALLBACK_CA_FILE: z.string().optional(),
  ACME_FALLBACK_EAB_KID: z.string().optional(),
  ACME_FALLBACK_EAB_HMAC_KEY: base64url.optional(),
  ACME_FALLBACK_PROFILE: z.string().optional(),
  ACME_FALLBACK_ISSUER_DOMAINS: listOf(hostName).optional(),
};

type Variables = z.infer<z.ZodObject<typeof fallbackVariables>>;
type Rule = readonly [isWrong: boolean, variable: string, problem: string];

function fallbackRules(given: Readonly<Record<string, string>>): readonly Rule[] {
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
      'requires ACME_DIRECTORY_URL',
    ],
    [
      second !== undefined && isSameUrl(first, second),
      'ACME_FALLBACK_DIRECTORY_URL',
      'must differ from ACME_DIRECTORY_URL',
    ],
    [
      second !== undefined && given['ACME_FALLBACK_ISSUER_DOMAINS'] === undefined,
      'ACME_FALLBACK_ISSUER_DOMAINS',
      'is required: the CAA identities of the CA of ACME_FALLBACK_DIRECTORY_URL',
    ],
    ...besides.map(
      (name): Rule => [
        given[name] !== undefined && second === undefined,
        name,
        'requires ACME_FALLBACK_DIRECTORY_URL',
      ],
    ),
    [
      (kid === undefined) !== (hmacKey === undefined),
      kid === undefined ? 'ACME_FALLBACK_EAB_KID' : 'ACME_FALLBACK_EAB_HMAC_KEY',
      'is missing: ACME_FALLBACK_EAB_KID and ACME_FALLBACK_EAB_HMAC_KEY are set together, or neither',
    ],
  ];
}

/** `v`: variables that passed every rule. Undefined if no second CA is configured. */
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

/** Compares normalized URLs: the account is stored by URL, and a CA cannot be its own fallback. */
function isSameUrl(one: string | undefined, other: string): boolean {
  if (one === undefined || !URL.canParse(one) || !URL.canParse(other)) return one === other;
  return new URL(one).href === new URL(other).href;
}

const DIRECTORY = 'ACME_DIRECTORY_URL';
/** Servers must set it, so that one without the variable cannot issue untrusted certificates. */
export const LOCAL_CA = 'local';
export const directoryProblem = `must be a URL that starts with https://, or ${LOCAL_CA}`;

/** `problem` completes a sentence: `PORT must be a port number, 0 to 65535`. */
export type ConfigProblem = { readonly variable: string; readonly problem: string };

/** `given`: variables that are set and not empty. */
export function combinationProblems(variables: Readonly<Record<string, string>>): ConfigProblem[] {
  const { [DIRECTORY]: directory, ...others } = variables;
  const given = directory === undefined || directory === LOCAL_CA ? others : variables;
  const has = (name: string) => given[name] !== undefined;
  const isExternal = given['CERTIFICATES'] === 'external';
  const rules: readonly (readonly [boolean, string, string])[] = [
    [has('REDIS_URL') && !has('DATABASE_URL'), 'REDIS_URL', 'requires DATABASE_URL'],
    [
      has('DATABASE_URL') && !has('KEY_ENCRYPTION_KEY'),
      'KEY_ENCRYPTION_KEY',
      'is required with DATABASE_URL (openssl rand -base64 32)',
    ],
    [
      has('DATABASE_URL') && !isExternal && directory === undefined,
      DIRECTORY,
      `is required with DATABASE_URL: the directory of your CA, or ${LOCAL_CA} for the local CA, whose certificates browsers do not trust`,
    ],
    [
      has('ROLE') && given['ROLE'] !== 'all' && !has('DATABASE_URL'),
      'ROLE',
      'must be all on embedded storage, which one process owns; set DATABASE_URL to run several',
    ],
    [
      isExternal && given['ROLE'] === 'edge',
      'ROLE',
      'must not be edge with CERTIFICATES=external, where another edge serves the domains',
    ],
    [
      isExternal && has('ACME_DIRECTORY_URL'),
      'ACME_DIRECTORY_URL',
      'must not be set with CERTIFICATES=external, where another edge obtains the certificates',
    ],
    ...['ACME_EAB_KID', 'ACME_PROFILE', 'ACME_BUDGET'].map(
      (name) =>
        [has(name) && !has('ACME_DIRECTORY_URL'), name, 'requires ACME_DIRECTORY_URL'] as const,
    ),
    [
      has('ACME_EAB_KID') !== has('ACME_EAB_HMAC_KEY'),
      has('ACME_EAB_KID') ? 'ACME_EAB_HMAC_KEY' : 'ACME_EAB_KID',
      'is missing: ACME_EAB_KID and ACME_EAB_HMAC_KEY are set together, or neither',
    ],
    [
      has('ACME_CA_FILE') && !has('ACME_DIRECTORY_URL') && !isExternal,
      'ACME_CA_FILE',
      'requires ACME_DIRECTORY_URL or CERTIFICATES=external',
    ],
    ...edgeRules(given),
    ...fallbackRules(given),
  ];
  return rules.flatMap(([wrong, variable, problem]) => (wrong ? [{ variable, problem }] : []));
}
