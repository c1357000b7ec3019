/** The one reader of the environment. Everything is optional; a wrong value is named, all of them at once. */
import { isIP } from 'node:net';
import { z } from 'zod';
import { apiKeyProblem } from './http/keys/first-key.ts';

export type SocketAddress = { readonly address: string; readonly port: number };

export type Storage =
  | { readonly kind: 'embedded'; readonly dataDir: string }
  | { readonly kind: 'postgres'; readonly databaseUrl: string }
  | { readonly kind: 'postgres_redis'; readonly databaseUrl: string; readonly redisUrl: string };

export type ApiConfig = {
  /** Where clients reach the API; ends in `/v1`. Missing: relative to where its document is read. */
  readonly baseUrl: string | undefined;
  readonly stagingUrl: string | undefined;
  /** Origins whose pages may call the API; `https://shop.example`, without a path. */
  readonly corsOrigins: readonly string[];
  /** Addresses and networks whose `X-Forwarded-For` is believed; `10.0.0.0/8`. */
  readonly trustedProxies: readonly string[];
  /** Requests a minute. */
  readonly rateLimits: { readonly perKey: number; readonly perAddress: number };
};

export type Config = {
  readonly role: 'all' | 'api' | 'worker' | 'edge';
  readonly http: { readonly host: string; readonly port: number };
  readonly api: ApiConfig;
  readonly edge: { readonly httpPort: number; readonly httpsPort: number };
  readonly storage: Storage;
  /** An administrator's key to accept from the start. */
  readonly apiKey: string | undefined;
  readonly platform: { readonly domain: string; readonly addresses: readonly string[] };
  readonly dns: {
    /** Recursive servers; empty means the system's. */
    readonly servers: readonly SocketAddress[];
    readonly authoritative: boolean;
    readonly authorityPort: number;
    readonly allowPrivate: boolean;
  };
  readonly acme: {
    /** Missing: certificates come from the local authority. */
    readonly directoryUrl: string | undefined;
    readonly caFile: string | undefined;
    readonly contact: string | undefined;
    /** The CAA identities of the authority in use, lower case. */
    readonly issuerDomains: readonly [string, ...string[]];
  };
  /** 32 bytes; missing only on embedded storage, which makes its own in DATA_DIR. */
  readonly keyEncryptionKey: Uint8Array | undefined;
  readonly verifyWindowMs: number;
  readonly escalateAfterMs: number;
  readonly logLevel: (typeof logLevels)[number];
};

export type ConfigProblem = { readonly variable: string; readonly problem: string };
export type ConfigResult =
  | { readonly ok: true; readonly config: Config }
  | { readonly ok: false; readonly problems: readonly ConfigProblem[] };

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
const units = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

const port = z
  .string()
  .regex(/^\d{1,5}$/, 'must be a port number, 0 to 65535')
  .transform(Number)
  .refine((n) => n <= 65_535, 'must be a port number, 0 to 65535');

const flag = z
  .enum(['true', 'false'], 'must be true or false')
  .transform((text) => text === 'true');

const duration = z
  .string()
  .regex(/^[1-9]\d{0,8}(ms|s|m|h|d)$/, 'must be a duration such as 48h, 30m, 15s or 500ms')
  .transform((text) => {
    const [, amount = '0', unit = 'ms'] = /^(\d+)(\D+)$/.exec(text) ?? [];
    return Number(amount) * units[unit as keyof typeof units]; // the expression above allows no other unit
  });

const hostName = z
  .string()
  .regex(
    /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/,
    'must be a host name in lower case, without a trailing dot',
  );

const url = (protocols: readonly string[]) =>
  z
    .string()
    .refine(
      (text) => URL.canParse(text) && protocols.includes(new URL(text).protocol),
      `must be a URL that starts with ${protocols.map((p) => `${p}//`).join(' or ')}`,
    );

/** A path that ends in `v1` is the interface document's (part 1). */
const baseUrl = url(['http:', 'https:']).refine(
  (text) => /^https?:\/\/[^/?#@]+(\/[^?#]*)?\/v1$/.test(text),
  'must end in /v1, without credentials, query or fragment',
);

const origin = z
  .string()
  .refine(
    (text) => URL.canParse(text) && new URL(text).origin === text,
    'must be origins such as https://shop.example, comma separated',
  );

const network = z.string().refine(isNetwork, 'must be addresses or networks, comma separated');

const perMinute = z
  .string()
  .regex(/^[1-9]\d{0,8}$/, 'must be a number of requests a minute, 1 or more')
  .transform(Number);

const address = z
  .string()
  .refine((text) => isIP(text) !== 0, 'must be IP addresses, comma separated');

const keyEncryptionKey = z
  .string()
  .transform((text) => Buffer.from(text, /^[0-9a-f]{64}$/i.test(text) ? 'hex' : 'base64'))
  .refine(
    (bytes) => bytes.length === 32,
    'must be 32 bytes in base64 or hex (openssl rand -base64 32)',
  );

const apiKey = z
  .string()
  .min(16, 'must have at least 16 characters')
  .superRefine((text, context) => {
    const problem = apiKeyProblem(text);
    if (problem !== null) context.addIssue(problem);
  });

const variables = z.object({
  ROLE: z.enum(['all', 'api', 'worker', 'edge'], 'must be all, api, worker or edge').default('all'),
  HOST: z.string().default('127.0.0.1'),
  PORT: port.default(3000),
  EDGE_HTTP_PORT: port.default(8080),
  EDGE_HTTPS_PORT: port.default(8443),
  DATABASE_URL: url(['postgres:', 'postgresql:']).optional(),
  REDIS_URL: url(['redis:', 'rediss:']).optional(),
  DATA_DIR: z.string().default('.data'),
  API_KEY: apiKey.optional(),
  BASE_URL: baseUrl.optional(),
  STAGING_URL: baseUrl.optional(),
  CORS_ORIGINS: list(origin).default([]),
  TRUSTED_PROXIES: list(network).default([]),
  RATE_LIMIT_PER_KEY: perMinute.default(6_000),
  RATE_LIMIT_PER_ADDRESS: perMinute.default(12_000),
  PLATFORM_DOMAIN: hostName.default('edge.signpost.test'),
  PLATFORM_ADDRESSES: list(address).default([]),
  DNS_SERVERS: list(z.string().transform(socketAddress)).default([]),
  DNS_AUTHORITATIVE: flag.default(true),
  DNS_AUTHORITY_PORT: port.default(53),
  DNS_ALLOW_PRIVATE: flag.default(false),
  ACME_DIRECTORY_URL: url(['https:']).optional(),
  ACME_CA_FILE: z.string().optional(),
  ACME_CONTACT: z.email('must be a mail address').optional(),
  ACME_ISSUER_DOMAINS: list(hostName).default(['letsencrypt.org']),
  KEY_ENCRYPTION_KEY: keyEncryptionKey.optional(),
  VERIFY_WINDOW: duration.default(48 * units.h),
  ESCALATE_AFTER: duration.default(30 * units.m),
  LOG_LEVEL: z.enum(logLevels, `must be one of ${logLevels.join(', ')}`).default('info'),
});
type Variables = z.infer<typeof variables>;

/** Every variable that Signpost reads; .env.example lists the same ones (test/config.test.ts). */
export const variableNames: readonly string[] = Object.keys(variables.shape);

/** Reads the configuration. A variable that is set but empty counts as not set. */
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

/** What is wrong although each variable by itself is right. */
function combinationProblems(given: Readonly<Record<string, string>>): ConfigProblem[] {
  const has = (name: string) => given[name] !== undefined;
  const rules: readonly [boolean, string, string][] = [
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
      has('ACME_CA_FILE') && !has('ACME_DIRECTORY_URL'),
      'ACME_CA_FILE',
      'needs ACME_DIRECTORY_URL beside it',
    ],
  ];
  return rules.flatMap(([wrong, variable, problem]) => (wrong ? [{ variable, problem }] : []));
}

function toConfig(v: Variables): Config {
  return {
    role: v.ROLE,
    http: { host: v.HOST, port: v.PORT },
    edge: { httpPort: v.EDGE_HTTP_PORT, httpsPort: v.EDGE_HTTPS_PORT },
    api: {
      baseUrl: v.BASE_URL,
      stagingUrl: v.STAGING_URL,
      corsOrigins: v.CORS_ORIGINS,
      trustedProxies: v.TRUSTED_PROXIES,
      rateLimits: { perKey: v.RATE_LIMIT_PER_KEY, perAddress: v.RATE_LIMIT_PER_ADDRESS },
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
    acme: {
      directoryUrl: v.ACME_DIRECTORY_URL,
      caFile: v.ACME_CA_FILE,
      contact: v.ACME_CONTACT,
      issuerDomains: [
        v.ACME_ISSUER_DOMAINS[0] ?? 'letsencrypt.org',
        ...v.ACME_ISSUER_DOMAINS.slice(1),
      ],
    },
    keyEncryptionKey: v.KEY_ENCRYPTION_KEY,
    verifyWindowMs: v.VERIFY_WINDOW,
    escalateAfterMs: v.ESCALATE_AFTER,
    logLevel: v.LOG_LEVEL,
  };
}

function storageOf({
  DATABASE_URL: databaseUrl,
  REDIS_URL: redisUrl,
  DATA_DIR,
}: Variables): Storage {
  if (databaseUrl === undefined) return { kind: 'embedded', dataDir: DATA_DIR };
  if (redisUrl === undefined) return { kind: 'postgres', databaseUrl };
  return { kind: 'postgres_redis', databaseUrl, redisUrl };
}

function list<Item extends z.ZodType<unknown, string>>(item: Item) {
  return z
    .string()
    .transform((text) => text.split(',').map((part) => part.trim()))
    .pipe(z.array(item));
}

/** `10.0.0.1`, `10.0.0.0/8` or `fd00::/8`. */
function isNetwork(text: string): boolean {
  const [, host = '', bits] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const family = isIP(host);
  return family !== 0 && Number(bits ?? 0) <= (family === 4 ? 32 : 128);
}

/** `192.0.2.1`, `192.0.2.1:5353`, `2001:db8::1` or `[2001:db8::1]:5353`. */
function socketAddress(text: string, context: z.RefinementCtx): SocketAddress {
  const [, bracketed, plain, portText] =
    /^(?:\[([^\]]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(text) ?? [];
  const host = isIP(text) === 6 ? text : (bracketed ?? plain ?? '');
  const portNumber = Number(portText ?? 53);
  if (isIP(host) === 0 || portNumber > 65_535) {
    context.addIssue('must be ip or ip:port, comma separated');
  }
  return { address: host, port: portNumber };
}
