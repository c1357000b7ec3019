/** Rules for combinations of variables. */
import { DELIVERIES_KEPT_MS } from '../core/operations/webhook-plan.ts';
import { DAY, parseDuration } from '../core/time.ts';
import { LOCAL_CA, type VariableName, variableNames, variableRows } from './variables.ts';

/** `problem` completes a sentence: `PORT must be a port number, 0 to 65535`. */
export type ConfigProblem = { readonly variable: VariableName; readonly problem: string };
type Rule = readonly [isWrong: boolean, variable: VariableName, problem: string];
/** Variables that are set and not empty. */
type Given = { readonly [Name in VariableName]?: string };

export function combinationProblems(given: Given): ConfigProblem[] {
  const rules = [
    ...storageRules(given),
    ...authorityRules(given),
    ...edgeRules(given),
    ...fallbackRules(given),
  ];
  return rules.flatMap(([isWrong, variable, problem]) => (isWrong ? [{ variable, problem }] : []));
}

function storageRules(given: Given): readonly Rule[] {
  const hasServer = given.DATABASE_URL !== undefined;
  const { ROLE: role = 'all' } = given;
  return [
    [given.REDIS_URL !== undefined && !hasServer, 'REDIS_URL', 'requires DATABASE_URL'],
    [
      hasServer && given.KEY_ENCRYPTION_KEY === undefined,
      'KEY_ENCRYPTION_KEY',
      'is required with DATABASE_URL (openssl rand -base64 32)',
    ],
    [
      hasServer && given.CERTIFICATES !== 'external' && given.ACME_DIRECTORY_URL === undefined,
      'ACME_DIRECTORY_URL',
      `is required with DATABASE_URL: the directory of your CA, or ${LOCAL_CA} for the local CA, whose certificates browsers do not trust`,
    ],
    [
      role !== 'all' && !hasServer,
      'ROLE',
      'must be all on embedded storage, which one process owns; set DATABASE_URL to run several',
    ],
    [
      (parseDuration(given.EVENT_RETENTION ?? '') ?? Infinity) < DELIVERIES_KEPT_MS,
      'EVENT_RETENTION',
      `must be ${DELIVERIES_KEPT_MS / DAY}d or longer, as long as webhook deliveries are kept`,
    ],
  ];
}

function authorityRules(given: Given): readonly Rule[] {
  const hasDirectory = remoteDirectory(given) !== undefined;
  const isExternal = given.CERTIFICATES === 'external';
  return [
    [
      isExternal && given.ROLE === 'edge',
      'ROLE',
      'must not be edge with CERTIFICATES=external, where another edge serves the domains',
    ],
    [
      isExternal && hasDirectory,
      'ACME_DIRECTORY_URL',
      'must not be set with CERTIFICATES=external, where another edge obtains the certificates',
    ],
    ...(['ACME_EAB_KID', 'ACME_PROFILE', 'ACME_BUDGET'] as const).map(
      (name): Rule => [
        given[name] !== undefined && !hasDirectory,
        name,
        'requires ACME_DIRECTORY_URL',
      ],
    ),
    externalAccountRule(given, 'ACME_EAB_KID', 'ACME_EAB_HMAC_KEY'),
    [
      given.ACME_CA_FILE !== undefined && !hasDirectory && !isExternal,
      'ACME_CA_FILE',
      'requires ACME_DIRECTORY_URL or CERTIFICATES=external',
    ],
  ];
}

function remoteDirectory({ ACME_DIRECTORY_URL: url }: Given): string | undefined {
  return url === LOCAL_CA ? undefined : url;
}

function externalAccountRule(given: Given, kid: VariableName, hmacKey: VariableName): Rule {
  return [
    (given[kid] === undefined) !== (given[hmacKey] === undefined),
    given[kid] === undefined ? kid : hmacKey,
    `is missing: ${kid} and ${hmacKey} are set together, or neither`,
  ];
}

function edgeRules(given: Given): readonly Rule[] {
  const isCaddy = given.EDGE === 'caddy';
  const textOf = (name: VariableName) => given[name] ?? variableRows[name].default ?? '';
  const gatewayPort = textOf('EDGE_CADDY_ADDRESS').replace(/^.*:/, '');
  return [
    [
      isCaddy && given.CERTIFICATES === 'external',
      'EDGE',
      'must not be caddy with CERTIFICATES=external, where another edge obtains the certificates',
    ],
    [
      isCaddy && given.EDGE_CADDY_SECRET === undefined,
      'EDGE_CADDY_SECRET',
      'is required with EDGE=caddy (openssl rand -hex 32), the same here and for Caddy',
    ],
    [
      isCaddy && [textOf('EDGE_HTTP_PORT'), textOf('EDGE_HTTPS_PORT')].includes(gatewayPort),
      'EDGE_CADDY_ADDRESS',
      'must differ from EDGE_HTTP_PORT and EDGE_HTTPS_PORT, which Caddy uses',
    ],
    [
      isCaddy && given.ACME_CHALLENGE === 'tls-alpn-01',
      'ACME_CHALLENGE',
      'must be http-01 with EDGE=caddy: Caddy answers tls-alpn-01 only for its own orders',
    ],
  ];
}

function fallbackRules(given: Given): readonly Rule[] {
  const first = remoteDirectory(given);
  const { ACME_FALLBACK_DIRECTORY_URL: second } = given;
  const others = variableNames.filter(
    (name) => name.startsWith('ACME_FALLBACK_') && name !== 'ACME_FALLBACK_DIRECTORY_URL',
  );
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
      second !== undefined && given.ACME_FALLBACK_ISSUER_DOMAINS === undefined,
      'ACME_FALLBACK_ISSUER_DOMAINS',
      'is required: the CAA identities of the CA of ACME_FALLBACK_DIRECTORY_URL',
    ],
    ...others.map(
      (name): Rule => [
        given[name] !== undefined && second === undefined,
        name,
        'requires ACME_FALLBACK_DIRECTORY_URL',
      ],
    ),
    externalAccountRule(given, 'ACME_FALLBACK_EAB_KID', 'ACME_FALLBACK_EAB_HMAC_KEY'),
  ];
}

/** Compares normalized URLs: the account is stored by URL, and a CA cannot be its own fallback. */
function isSameUrl(one: string | undefined, other: string): boolean {
  if (one === undefined || !URL.canParse(one) || !URL.canParse(other)) return one === other;
  return new URL(one).href === new URL(other).href;
}
