/** The only code that reads the environment. All invalid values are reported at once. */

import { z } from 'zod';
import type { BudgetName } from '../core/certificates/budget.ts';
import { VERIFY_WINDOW_MS } from '../core/life/ladder.ts';
import { type AccountLimitName, usualAccountLimits } from '../core/operations/account-limits.ts';
import { type Role, roleNames } from '../core/operations/roles.ts';
import { MINUTE } from '../core/time.ts';
import {
  type ConfigProblem,
  combinationProblems,
  directoryProblem,
  type FallbackAuthority,
  fallbackOf,
  fallbackVariables,
  LOCAL_CA,
} from './combinations.ts';
import { type EdgeConfig, edgeOf, edgeVariables } from './edge.ts';
import { testLabVariables } from './test-lab.ts';
import {
  accountLimits,
  address,
  apiKey,
  base64url,
  baseUrl,
  count,
  duration,
  flag,
  hostName,
  type KeyEncryptionKeys,
  keyEncryptionKeys,
  listOf,
  metricsToken,
  network,
  origin,
  port,
  socketAddress,
  url,
} from './values.ts';

/** IPv6 addresses have no brackets. */
export type SocketAddress = { readonly address: string; readonly port: number };

/** In this process below `dataDir`, in PostgreSQL, or in PostgreSQL with the queue in Redis. */
export type Storage =
  | { readonly kind: 'embedded'; readonly dataDir: string }
  | { readonly kind: 'postgres'; readonly databaseUrl: string }
  | { readonly kind: 'postgres_redis'; readonly databaseUrl: string; readonly redisUrl: string };

export type ApiConfig = {
  /** Public URL of the API; ends in `/v1`. Missing: relative to the URL of the OpenAPI document. */
  readonly baseUrl: string | undefined;
  /** Another installation that the OpenAPI document lists. */
  readonly stagingUrl: string | undefined;
  /** Origins whose pages can call the API, such as `https://shop.example`, without a path. */
  readonly corsOrigins: readonly string[];
  /** Addresses and networks whose `X-Forwarded-For` is trusted. The edge does not count them. */
  readonly trustedProxies: readonly string[];
  /** Requests per minute. */
  readonly rateLimits: { readonly perKey: number; readonly perAddress: number };
  /** The defaults; an account can have others. */
  readonly accountLimits: Readonly<Record<AccountLimitName, number>>;
};

/** Validated and with defaults. Durations are in milliseconds. */
export type Config = {
  /** Always `all` on embedded storage. */
  readonly role: 'all' | Role;
  readonly http: { readonly host: string; readonly port: number };
  readonly api: ApiConfig;
  readonly edge: EdgeConfig;
  readonly storage: Storage;
  /** An administrator's key that is valid from the start. */
  readonly apiKey: string | undefined;
  /** `addresses`: what an apex must resolve to; empty: whatever its target resolves to. */
  readonly platform: { readonly domain: string; readonly addresses: readonly string[] };
  readonly dns: {
    /** Resolvers; empty: the system's. */
    readonly servers: readonly SocketAddress[];
    /** Whether to query the zones' name servers, or only the resolvers. */
    readonly authoritative: boolean;
    readonly authorityPort: number;
    /** Accepts private servers and addresses. For test labs only. */
    readonly allowPrivate: boolean;
  };
  readonly certificates: {
    /** `external`: another edge has the certificates, and workers check what it serves. */
    readonly source: 'own' | 'external';
  };
  readonly acme: {
    /** Missing: the local CA issues certificates. */
    readonly directoryUrl: string | undefined;
    /** PEM to trust: for the directory, or for the certificates that an external edge serves. */
    readonly caFile: string | undefined;
    readonly contact: string | undefined;
    /** The CA's external account to bind ours to (RFC 8555, section 7.3.4). */
    readonly externalAccount: { readonly kid: string; readonly hmacKey: Uint8Array } | undefined;
    /** Missing: the CA's default. */
    readonly profile: string | undefined;
    readonly challenge: 'http-01' | 'tls-alpn-01';
    /** Where the CA sends challenges. Only test labs change 80 and 443. */
    readonly httpPort: number;
    readonly tlsPort: number;
    /** CAA identities of the CA in use, lowercase. */
    readonly issuerDomains: readonly [string, ...string[]];
    /** Which CA's rate limits to obey; missing: chosen by the directory's host. */
    readonly budget: BudgetName | undefined;
    readonly fallback: FallbackAuthority | undefined;
  };
  /** Missing only on embedded storage, which creates its own key in DATA_DIR. */
  readonly keyEncryptionKeys: KeyEncryptionKeys | undefined;
  /** Allows http and private addresses. For test labs only. */
  readonly webhooks: { readonly allowPrivate: boolean };
  /** Addresses and networks that deploys can use even if they are private or ours. */
  readonly upstreams: { readonly networks: readonly string[] };
  /** How long a pending domain is checked before it fails. */
  readonly verifyWindowMs: number;
  /** Divides every wait except those between orders. For test labs only. */
  readonly timeScale: number;
  /** How long after verification a missing certificate triggers an operator notification. */
  readonly escalateAfterMs: number;
  readonly metrics: {
    /** Separate port for metrics and health. */
    readonly port: number | undefined;
    /** Bearer token that can only read metrics. */
    readonly token: string | undefined;
  };
  readonly logLevel: (typeof logLevels)[number];
};

export type ConfigResult =
  | { readonly ok: true; readonly config: Config }
  | { readonly ok: false; readonly problems: readonly ConfigProblem[] };

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
const variables = z.object({
  ROLE: z.enum(['all', ...roleNames], `must be one of all, ${roleNames.join(', ')}`).default('all'),
  HOST: z.string().default('127.0.0.1'),
  PORT: port.default(3000),
  ...edgeVariables,
  DATABASE_URL: url(['postgres:', 'postgresql:']).optional(),
  REDIS_URL: url(['redis:', 'rediss:']).optional(),
  DATA_DIR: z.string().default('.data'),
  API_KEY: apiKey.optional(),
  BASE_URL: baseUrl.optional(),
  STAGING_URL: baseUrl.optional(),
  CORS_ORIGINS: listOf(origin).default([]),
  TRUSTED_PROXIES: listOf(network).default([]),
  RATE_LIMIT_PER_KEY: count('requests a minute').default(6_000),
  RATE_LIMIT_PER_ADDRESS: count('requests a minute').default(12_000),
  ACCOUNT_LIMITS: accountLimits.default(usualAccountLimits),
  PLATFORM_DOMAIN: hostName.default('edge.signpost.test'),
  PLATFORM_ADDRESSES: listOf(address).default([]),
  DNS_SERVERS: listOf(z.string().transform(socketAddress)).default([]),
  DNS_AUTHORITATIVE: flag.default(true),
  CERTIFICATES: z.enum(['own', 'external'], 'must be own or external').default('own'),
  ACME_DIRECTORY_URL: z.union([z.literal(LOCAL_CA), url(['https:'])], directoryProblem).optional(),
  ACME_CA_FILE: z.string().optional(),
  ACME_CONTACT: z.email('must be a mail address').optional(),
  ACME_EAB_KID: z.string().optional(),
  ACME_EAB_HMAC_KEY: base64url.optional(),
  ACME_PROFILE: z.string().optional(),
  ACME_CHALLENGE: z
    .enum(['http-01', 'tls-alpn-01'], 'must be http-01 or tls-alpn-01')
    .default('http-01'),
  ACME_ISSUER_DOMAINS: listOf(hostName).default(['letsencrypt.org']),
  ACME_BUDGET: z.enum(['letsencrypt', 'none'], 'must be letsencrypt or none').optional(),
  ...fallbackVariables,
  KEY_ENCRYPTION_KEY: keyEncryptionKeys.optional(),
  UPSTREAM_NETWORKS: listOf(network).optional(),
  VERIFY_WINDOW: duration.default(VERIFY_WINDOW_MS),
  ESCALATE_AFTER: duration.default(30 * MINUTE),
  METRICS_PORT: port.optional(),
  METRICS_TOKEN: metricsToken.optional(),
  LOG_LEVEL: z.enum(logLevels, `must be one of ${logLevels.join(', ')}`).default('info'),
  ...testLabVariables,
});
type Variables = z.infer<typeof variables>;

/** Embedded storage runs on a laptop, and so do its deploys. */
const loopback: readonly string[] = ['127.0.0.0/8', '::1'];

/** .env.example lists the same variables (test/config.test.ts). */
export const variableNames: readonly string[] = Object.keys(variables.shape);

/** Never throws. Empty variables count as not set; unknown ones are ignored. */
export function loadConfig(env: Readonly<Record<string, string | undefined>>): ConfigResult {
  const given = Object.fromEntries(
    variableNames.flatMap((name) => (env[name] ? [[name, env[name]]] : [])),
  );
  const parsed = variables.safeParse(given);
  const problems = [
    ...(parsed.error?.issues ?? []).map((issue) => ({
      variable: String(issue.path[0]),
      problem: issue.message,
    })),
    ...combinationProblems(given),
  ];
  return parsed.success && problems.length === 0
    ? { ok: true, config: toConfig(parsed.data) }
    : { ok: false, problems };
}

function toConfig(v: Variables): Config {
  return {
    role: v.ROLE,
    http: { host: v.HOST, port: v.PORT },
    edge: edgeOf(v),
    api: {
      baseUrl: v.BASE_URL,
      stagingUrl: v.STAGING_URL,
      corsOrigins: v.CORS_ORIGINS,
      trustedProxies: v.TRUSTED_PROXIES,
      rateLimits: { perKey: v.RATE_LIMIT_PER_KEY, perAddress: v.RATE_LIMIT_PER_ADDRESS },
      accountLimits: v.ACCOUNT_LIMITS,
    },
    storage: storageOf(v),
    apiKey: v.API_KEY,
    platform: { domain: v.PLATFORM_DOMAIN, addresses: v.PLATFORM_ADDRESSES },
    dns: {
      servers: v.DNS_SERVERS,
      authoritative: v.DNS_AUTHORITATIVE,
      authorityPort: v.DNS_AUTHORITY_PORT,
      allowPrivate: v.DNS_ALLOW_PRIVATE,
    },
    certificates: { source: v.CERTIFICATES },
    acme: {
      directoryUrl: v.ACME_DIRECTORY_URL === LOCAL_CA ? undefined : v.ACME_DIRECTORY_URL,
      caFile: v.ACME_CA_FILE,
      contact: v.ACME_CONTACT,
      externalAccount: externalAccountOf(v),
      profile: v.ACME_PROFILE,
      challenge: v.ACME_CHALLENGE,
      httpPort: v.ACME_HTTP_PORT,
      tlsPort: v.ACME_TLS_PORT,
      issuerDomains: [
        v.ACME_ISSUER_DOMAINS[0] ?? 'letsencrypt.org',
        ...v.ACME_ISSUER_DOMAINS.slice(1),
      ],
      budget: v.ACME_BUDGET,
      fallback: fallbackOf(v),
    },
    keyEncryptionKeys: v.KEY_ENCRYPTION_KEY,
    webhooks: { allowPrivate: v.WEBHOOK_ALLOW_PRIVATE },
    upstreams: { networks: v.UPSTREAM_NETWORKS ?? (v.DATABASE_URL ? [] : loopback) },
    verifyWindowMs: v.VERIFY_WINDOW,
    timeScale: v.TIME_SCALE,
    escalateAfterMs: v.ESCALATE_AFTER,
    metrics: { port: v.METRICS_PORT, token: v.METRICS_TOKEN },
    logLevel: v.LOG_LEVEL,
  };
}

function externalAccountOf({ ACME_EAB_KID: kid, ACME_EAB_HMAC_KEY: hmacKey }: Variables) {
  return kid === undefined || hmacKey === undefined ? undefined : { kid, hmacKey };
}

function storageOf(v: Variables): Storage {
  const { DATABASE_URL: databaseUrl, REDIS_URL: redisUrl } = v;
  if (databaseUrl === undefined) return { kind: 'embedded', dataDir: v.DATA_DIR };
  if (redisUrl === undefined) return { kind: 'postgres', databaseUrl };
  return { kind: 'postgres_redis', databaseUrl, redisUrl };
}
