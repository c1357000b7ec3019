/** What is wrong with variables together although each by itself is right. */
import { fallbackRules } from './config-fallback.ts';

export type ConfigProblem = { readonly variable: string; readonly problem: string };

/** `given`: the variables that are set and not empty. */
export function combinationProblems(given: Readonly<Record<string, string>>): ConfigProblem[] {
  const has = (name: string) => given[name] !== undefined;
  const isExternal = given['CERTIFICATES'] === 'external';
  const rules: readonly (readonly [boolean, string, string])[] = [
    [has('REDIS_URL') && !has('DATABASE_URL'), 'REDIS_URL', 'needs DATABASE_URL beside it'],
    [
      has('DATABASE_URL') && !has('KEY_ENCRYPTION_KEY'),
      'KEY_ENCRYPTION_KEY',
      'is required with DATABASE_URL (openssl rand -base64 32)',
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
        [
          has(name) && !has('ACME_DIRECTORY_URL'),
          name,
          'needs ACME_DIRECTORY_URL beside it',
        ] as const,
    ),
    [
      has('ACME_EAB_KID') !== has('ACME_EAB_HMAC_KEY'),
      has('ACME_EAB_KID') ? 'ACME_EAB_HMAC_KEY' : 'ACME_EAB_KID',
      'is missing: ACME_EAB_KID and ACME_EAB_HMAC_KEY are set together, or neither',
    ],
    [
      has('ACME_CA_FILE') && !has('ACME_DIRECTORY_URL') && !isExternal,
      'ACME_CA_FILE',
      'needs ACME_DIRECTORY_URL or CERTIFICATES=external beside it',
    ],
    ...fallbackRules(given),
  ];
  return rules.flatMap(([wrong, variable, problem]) => (wrong ? [{ variable, problem }] : []));
}
