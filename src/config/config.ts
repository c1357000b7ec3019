/** The only code that reads the environment. All invalid values are reported at once. */
import { NOT_SET } from '../core/operations/fleet.ts';
import { type Role, roleNames } from '../core/operations/roles.ts';
import { HOUR, MINUTE, SECOND } from '../core/time.ts';
import { type ConfigProblem, combinationProblems } from './combinations.ts';
import { duration } from './values.ts';
import {
  LOCAL_CA,
  type VariableName,
  type Variables,
  variableNames,
  variableRows,
} from './variables.ts';

/** IPv6 addresses have no brackets. */
export type SocketAddress = { readonly address: string; readonly port: number };

/** In this process below `dataDir`, in PostgreSQL, or in PostgreSQL with the queue in Redis. */
export type Storage =
  | { readonly kind: 'embedded'; readonly dataDir: string }
  | { readonly kind: 'postgres'; readonly databaseUrl: string }
  | { readonly kind: 'postgres_redis'; readonly databaseUrl: string; readonly redisUrl: string };

/** Validated and with defaults. Durations are in milliseconds. What a field means: `variables.ts`. */
export type Config = ReturnType<typeof toConfig>;
export type ApiConfig = Config['api'];
export type FallbackAuthority = NonNullable<Config['acme']['fallback']>;

export type ConfigResult =
  | { readonly ok: true; readonly config: Config }
  | { readonly ok: false; readonly problems: readonly ConfigProblem[] };

/** Never throws. Empty variables count as not set; unknown ones are ignored. */
export function loadConfig(env: Readonly<Record<string, string | undefined>>): ConfigResult {
  const given = Object.fromEntries(
    variableNames.flatMap((name) => (env[name] ? [[name, env[name]]] : [])),
  );
  const problems: ConfigProblem[] = [];
  const values = Object.fromEntries(
    variableNames.map((name) => {
      const { value, wrong = [] } = read(name, given[name]);
      problems.push(...wrong.map((problem) => ({ variable: name, problem })));
      return [name, value];
    }),
  );
  problems.push(...combinationProblems(given));
  return problems.length === 0
    ? { ok: true, config: toConfig(values as Variables) } // each by its own schema
    : { ok: false, problems };
}

function read(name: VariableName, given: string | undefined) {
  const row = variableRows[name];
  const text = given ?? row.default;
  if (text === undefined) return {};
  const { data: value, error } = row.schema.safeParse(text);
  return error === undefined ? { value } : { wrong: error.issues.map(({ message }) => message) };
}

/** Embedded storage that only this machine reaches runs on a laptop, and so do its deploys. */
function usualNetworks({ DATABASE_URL, HOST }: Variables): readonly string[] {
  const isLaptop = DATABASE_URL === undefined && /^(localhost|127\.[\d.]+|::1)$/.test(HOST);
  return isLaptop ? ['127.0.0.0/8', '::1'] : [];
}

function toConfig(v: Variables) {
  return {
    /** Always `all` on embedded storage. */
    role: v.ROLE,
    http: { host: v.HOST, port: v.PORT },
    edge: edgeOf(v),
    api: {
      baseUrl: v.BASE_URL,
      stagingUrl: v.STAGING_URL,
      corsOrigins: v.CORS_ORIGINS ?? [],
      trustedProxies: v.TRUSTED_PROXIES ?? [],
      rateLimits: { perKey: v.RATE_LIMIT_PER_KEY, perAddress: v.RATE_LIMIT_PER_ADDRESS },
      accountLimits: v.ACCOUNT_LIMITS,
    },
    storage: storageOf(v),
    apiKey: v.API_KEY,
    /** `addresses`: empty: whatever a target resolves to. */
    platform: { domain: v.PLATFORM_DOMAIN, addresses: v.PLATFORM_ADDRESSES ?? [] },
    dns: {
      /** Empty: the system's. */
      servers: v.DNS_SERVERS ?? [],
      authoritative: v.DNS_AUTHORITATIVE,
      authorityPort: v.DNS_AUTHORITY_PORT,
      allowPrivate: v.DNS_ALLOW_PRIVATE,
    },
    certificates: { source: v.CERTIFICATES },
    acme: {
      /** Undefined: the local CA issues certificates. */
      directoryUrl: v.ACME_DIRECTORY_URL === LOCAL_CA ? undefined : v.ACME_DIRECTORY_URL,
      caFile: v.ACME_CA_FILE,
      contact: v.ACME_CONTACT,
      externalAccount: externalAccount(v.ACME_EAB_KID, v.ACME_EAB_HMAC_KEY),
      profile: v.ACME_PROFILE,
      challenge: v.ACME_CHALLENGE,
      httpPort: v.ACME_HTTP_PORT,
      tlsPort: v.ACME_TLS_PORT,
      issuerDomains: atLeastOne(v.ACME_ISSUER_DOMAINS),
      budget: v.ACME_BUDGET,
      fallback: fallbackOf(v),
    },
    /** Undefined only on embedded storage, which creates its own key in DATA_DIR. */
    keyEncryptionKeys: v.KEY_ENCRYPTION_KEY,
    webhooks: { allowPrivate: v.WEBHOOK_ALLOW_PRIVATE },
    upstreams: { networks: v.UPSTREAM_NETWORKS ?? usualNetworks(v) },
    verifyWindowMs: v.VERIFY_WINDOW,
    timeScale: v.TIME_SCALE,
    escalateAfterMs: v.ESCALATE_AFTER,
    eventRetentionMs: v.EVENT_RETENTION,
    metrics: { port: v.METRICS_PORT, token: v.METRICS_TOKEN },
    logLevel: v.LOG_LEVEL,
    shared: sharedOf(v),
  };
}

/** The values of the roles' shared variables, each in one spelling; secret ones are compared otherwise. */
function sharedOf(v: Variables): Readonly<Record<string, string>> {
  const roles = v.ROLE === 'all' ? roleNames : [v.ROLE];
  const names = variableNames.filter((name) => {
    const { secret, shared = [] } = variableRows[name];
    return secret !== true && roles.some((role) => shared.includes(role));
  });
  return Object.fromEntries(names.map((name) => [name, spelt(name, v[name])]));
}

function spelt(name: VariableName, value: unknown): string {
  if (value === undefined) return NOT_SET;
  if (Array.isArray(value)) return value.toSorted().join(',');
  if (variableRows[name].schema === duration) return inShortestUnit(Number(value));
  if (typeof value !== 'object' || value === null) return String(value);
  return Object.entries(value)
    .map(([key, one]) => `${key}=${one}`)
    .join(',');
}

function inShortestUnit(ms: number): string {
  const units = [
    [HOUR, 'h'],
    [MINUTE, 'm'],
    [SECOND, 's'],
  ] as const;
  const [size, unit] = units.find(([one]) => ms % one === 0) ?? [1, 'ms'];
  return `${ms / size}${unit}`;
}

function edgeOf(v: Variables) {
  const secret = v.EDGE === 'caddy' ? v.EDGE_CADDY_SECRET : undefined;
  return {
    /** Undefined: Signpost has the ports. */
    caddy: secret === undefined ? undefined : { ...v.EDGE_CADDY_ADDRESS, secret },
    httpPort: v.EDGE_HTTP_PORT,
    httpsPort: v.EDGE_HTTPS_PORT,
    publicHttpsPort: v.PUBLIC_HTTPS_PORT,
    isProbed: v.EDGE_PROBE,
    connectionsPerAddress: v.EDGE_CONNECTIONS_PER_ADDRESS,
    handshakesPerSecond: v.EDGE_HANDSHAKES_PER_SECOND,
    handshakesPerAddress: v.EDGE_HANDSHAKES_PER_ADDRESS,
    requests: v.EDGE_REQUESTS,
    requestsPerProject: v.EDGE_REQUESTS_PER_PROJECT,
  };
}

/** It uses the contact and ports of the first CA. */
function fallbackOf(v: Variables) {
  const { ACME_FALLBACK_DIRECTORY_URL: directoryUrl, ACME_FALLBACK_ISSUER_DOMAINS: issuers } = v;
  if (directoryUrl === undefined || issuers === undefined) return undefined;
  return {
    directoryUrl,
    caFile: v.ACME_FALLBACK_CA_FILE,
    externalAccount: externalAccount(v.ACME_FALLBACK_EAB_KID, v.ACME_FALLBACK_EAB_HMAC_KEY),
    profile: v.ACME_FALLBACK_PROFILE,
    issuerDomains: atLeastOne(issuers),
  };
}

/** RFC 8555, section 7.3.4. */
function externalAccount(kid: string | undefined, hmacKey: Uint8Array | undefined) {
  return kid === undefined || hmacKey === undefined ? undefined : { kid, hmacKey };
}

/** A list that was read has an item. */
function atLeastOne([first = '', ...others]: readonly string[]): readonly [string, ...string[]] {
  return [first, ...others];
}

function storageOf(v: Variables): Storage {
  const { DATABASE_URL: databaseUrl, REDIS_URL: redisUrl } = v;
  if (databaseUrl === undefined) return { kind: 'embedded', dataDir: v.DATA_DIR };
  if (redisUrl === undefined) return { kind: 'postgres', databaseUrl };
  return { kind: 'postgres_redis', databaseUrl, redisUrl };
}

/** With an external edge, the edge role is omitted. */
export function rolesOf({
  role,
  certificates,
}: Pick<Config, 'role' | 'certificates'>): readonly Role[] {
  const played: readonly Role[] = role === 'all' ? roleNames : [role];
  return played.filter((one) => one !== 'edge' || certificates.source === 'own');
}
