/** Every environment variable. `.env.example` and docs/run/configuration.md are made from this table (`npm run docs`). */
import { z } from 'zod';
import { VERIFY_WINDOW_MS } from '../core/life/ladder.ts';
import { usualAccountLimits } from '../core/operations/account-limits.ts';
import { type Role, roleNames } from '../core/operations/roles.ts';
import { HOUR } from '../core/time.ts';
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
  keyEncryptionKeys,
  listenAddress,
  listOf,
  metricsToken,
  network,
  origin,
  port,
  socketAddress,
  timeScale,
  url,
  urlSecret,
} from './values.ts';

export type VariableRow = {
  /** Reads the text; its messages complete `PORT must …`. */
  readonly schema: z.ZodType<unknown, string>;
  /** As text, like a value of the environment. */
  readonly default?: string;
  /** What applies without a value, if that is not one text. */
  readonly without?: string;
  /** One line of Markdown; links are relative to docs/run/. */
  readonly help: string;
  /** Never shown or logged. */
  readonly secret?: true;
  /** Two processes with one of these roles must have the same value. */
  readonly shared?: readonly Role[];
};

const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
/** Servers must set it, so that one without the variable cannot issue untrusted certificates. */
export const LOCAL_CA = 'local';
const text = z.string();
const directory = z.union(
  [z.literal(LOCAL_CA), url(['https:'])],
  `must be a URL that starts with https://, or ${LOCAL_CA}`,
);
const usualLimits = Object.entries(usualAccountLimits).map(([name, limit]) => `${name}=${limit}`);

export const variableGroups = {
  'Processes and storage': {
    ROLE: {
      schema: z.enum(['all', ...roleNames], `must be one of all, ${roleNames.join(', ')}`),
      default: 'all',
      help: 'what this process does: `api`, `worker`, `edge` or `all`. One role requires `DATABASE_URL`',
    },
    DATABASE_URL: {
      schema: url(['postgres:', 'postgresql:']),
      secret: true,
      help: 'PostgreSQL 13 or newer. Without it, the database is embedded',
    },
    REDIS_URL: {
      schema: url(['redis:', 'rediss:']),
      secret: true,
      shared: ['api', 'worker'],
      help: 'Redis 6.2 or newer with `noeviction`. Without it, the queue is in PostgreSQL',
    },
    DATA_DIR: {
      schema: text,
      default: '.data',
      help: 'folder of the embedded storage and of the key made for it; only its owner can open it (0700)',
    },
    KEY_ENCRYPTION_KEY: {
      schema: keyEncryptionKeys,
      without: 'made in `DATA_DIR` on embedded storage, else required',
      secret: true,
      shared: roleNames,
      help: 'encrypts private keys and other secrets at rest: 32 bytes in base64 or hex (`openssl rand -base64 32`). Several, comma-separated, during a [rotation](key-rotation.md): the first encrypts, all decrypt',
    },
    LOG_LEVEL: {
      schema: z.enum(logLevels, `must be one of ${logLevels.join(', ')}`),
      default: 'info',
      help: 'the lowest level that is logged, as JSON lines on standard error',
    },
  },
  'API and dashboard': {
    HOST: {
      schema: text,
      default: '127.0.0.1',
      help: 'the address on which the API, the dashboard and the edge listen',
    },
    PORT: { schema: port, default: '3000', help: 'port of the API and the dashboard' },
    API_KEY: {
      schema: apiKey,
      secret: true,
      help: 'an admin key to accept from the start, 16 characters or more. Without it, and without any key, the first start creates one and prints it',
    },
    BASE_URL: {
      schema: baseUrl,
      without: '`/v1`',
      help: 'the public URL of the API, ending in `/v1`: a server in the OpenAPI document',
    },
    STAGING_URL: {
      schema: baseUrl,
      help: 'the public URL of the staging installation, ending in `/v1`, for the same list',
    },
    CORS_ORIGINS: {
      schema: listOf(origin),
      help: 'origins whose pages can call the API, comma-separated: `https://shop.example`',
    },
    TRUSTED_PROXIES: {
      schema: listOf(network),
      help: 'proxies whose `X-Forwarded-For` is trusted, and load balancers whose connections the edge does not count; addresses or networks, comma-separated',
    },
    RATE_LIMIT_PER_KEY: {
      schema: count('requests a minute'),
      default: '6000',
      help: 'requests a minute with one key',
    },
    RATE_LIMIT_PER_ADDRESS: {
      schema: count('requests a minute'),
      default: '12000',
      help: 'requests a minute from one address',
    },
    ACCOUNT_LIMITS: {
      schema: accountLimits,
      default: usualLimits.join(','),
      shared: ['api'],
      help: 'the [limits](../integrate/accounts.md#limits) of accounts that have no own ones. Those that are not named stay as usual',
    },
    METRICS_PORT: {
      schema: port,
      help: '[metrics and probes](monitoring.md) on a separate port of `HOST`; the only place for `worker` and `edge`',
    },
    METRICS_TOKEN: {
      schema: metricsToken,
      secret: true,
      help: 'a bearer token that reads metrics only, 16 characters or more. Without it, `METRICS_PORT` is open, and the API requires a key with `ops:read`',
    },
  },
  'The platform': {
    PLATFORM_DOMAIN: {
      schema: hostName,
      default: 'edge.signpost.test',
      shared: roleNames,
      help: 'customers’ records point to names below it: publish `*.<PLATFORM_DOMAIN>` with the edge’s addresses',
    },
    PLATFORM_ADDRESSES: {
      schema: listOf(address),
      without: 'resolved from a target, every 5 minutes',
      shared: roleNames,
      help: 'the edge’s addresses, comma-separated: what an apex must resolve to. Webhooks and deploys at them are refused',
    },
    UPSTREAM_NETWORKS: {
      schema: listOf(network),
      without: 'loopback on embedded storage with a loopback `HOST`, else none',
      shared: ['api', 'edge'],
      help: 'networks that [deploys](edge.md#deploys) can be in besides public addresses, comma-separated. Signpost’s own ports stay refused',
    },
    VERIFY_WINDOW: {
      schema: duration,
      default: `${VERIFY_WINDOW_MS / HOUR}h`,
      shared: ['api', 'worker'],
      help: 'how long a pending domain is checked',
    },
    ESCALATE_AFTER: {
      schema: duration,
      default: '30m',
      shared: ['worker'],
      help: 'how long a verified domain can be without a certificate before an operator is called',
    },
    EVENT_RETENTION: {
      schema: duration,
      default: '400d',
      shared: ['worker'],
      help: 'how long [events](../integrate/events.md#how-long-events-are-kept) are kept, `30d` or longer',
    },
  },
  'The edge': {
    EDGE: {
      schema: z.enum(['own', 'caddy'], 'must be own or caddy'),
      default: 'own',
      shared: roleNames,
      help: 'which server terminates TLS: `own`, or `caddy` in front for HTTP/2 and HTTP/3 ([the edge](edge.md))',
    },
    EDGE_HTTP_PORT: {
      schema: port,
      default: '8080',
      help: 'HTTP port of the edge, or of Caddy in front of it; 80 in production',
    },
    EDGE_HTTPS_PORT: {
      schema: port,
      default: '8443',
      help: 'HTTPS port of the edge, or of Caddy in front of it; 443 in production',
    },
    PUBLIC_HTTPS_PORT: {
      schema: port,
      without:
        'redirects: `EDGE_HTTPS_PORT`; workers: 443, or `EDGE_HTTPS_PORT` on embedded storage',
      help: 'the port at which visitors reach the edge. Set 443 if a load balancer forwards 443 to another port',
    },
    EDGE_CADDY_SECRET: {
      schema: urlSecret,
      secret: true,
      help: 'authenticates Caddy to the edge: 32 to 256 of letters, digits, `- . _ ~`, the same in Caddy’s environment (`openssl rand -hex 32`). Required with `EDGE=caddy`',
    },
    EDGE_CADDY_ADDRESS: {
      schema: listenAddress,
      default: '127.0.0.1:9180',
      help: '`ip:port` where Caddy reaches the edge. Private keys travel over it: keep it on one machine',
    },
    EDGE_PROBE: {
      schema: flag,
      default: 'true',
      help: 'whether workers connect to the edge’s public addresses. Set `false` if workers cannot reach them but visitors can (no hairpin NAT): see [what visitors are shown](monitoring.md#what-visitors-are-shown)',
    },
    EDGE_CONNECTIONS_PER_ADDRESS: {
      schema: count('connections'),
      default: '300',
      help: 'connections per visitor address, or requests behind Caddy; `TRUSTED_PROXIES` excepted',
    },
    EDGE_HANDSHAKES_PER_SECOND: {
      schema: count('handshakes'),
      default: '1000',
      help: 'TLS handshakes a second of one process, with `EDGE=own`',
    },
    EDGE_HANDSHAKES_PER_ADDRESS: {
      schema: count('handshakes a second'),
      default: '50',
      help: 'TLS handshakes a second per visitor address, with `EDGE=own`',
    },
    EDGE_REQUESTS: {
      schema: count('requests'),
      default: '8000',
      help: 'concurrent requests to deploys of one process',
    },
    EDGE_REQUESTS_PER_PROJECT: {
      schema: count('requests'),
      default: '2000',
      help: 'concurrent requests to the deploys of one project, per process',
    },
  },
  Certificates: {
    CERTIFICATES: {
      schema: z.enum(['own', 'external'], 'must be own or external'),
      default: 'own',
      shared: roleNames,
      help: '`external`: [another edge](edge.md#another-edge) obtains and serves the certificates',
    },
    ACME_DIRECTORY_URL: {
      schema: directory,
      without: '`local` on embedded storage, else required',
      shared: roleNames,
      help: 'the RFC 8555 directory of the certificate authority (CA). `local`: a local CA signs; browsers do not trust it',
    },
    ACME_CONTACT: {
      schema: z.email('must be a mail address'),
      help: 'a mail address for the account; a change is sent with the next order',
    },
    ACME_CHALLENGE: {
      schema: z.enum(['http-01', 'tls-alpn-01'], 'must be http-01 or tls-alpn-01'),
      default: 'http-01',
      shared: roleNames,
      help: '`http-01` on port 80, or `tls-alpn-01` on port 443 if port 80 does not reach the edge',
    },
    ACME_ISSUER_DOMAINS: {
      schema: listOf(hostName),
      default: 'letsencrypt.org',
      shared: ['api', 'worker'],
      help: 'the CAA identities of the CA, comma-separated',
    },
    ACME_BUDGET: {
      schema: z.enum(['letsencrypt', 'none'], 'must be letsencrypt or none'),
      without: 'by the directory’s host: `letsencrypt` for Let’s Encrypt production, else `none`',
      shared: ['worker'],
      help: 'whose published [rate limits](../understand/certificates.md#rate-limits) orders respect. `none`: only failed authorizations are counted, five an hour per name',
    },
    ACME_EAB_KID: {
      schema: text,
      help: 'external account binding (RFC 8555, section 7.3.4): the key identifier. Set both parts or neither',
    },
    ACME_EAB_HMAC_KEY: { schema: base64url, secret: true, help: 'its HMAC key in base64url' },
    ACME_PROFILE: {
      schema: text,
      without: 'the CA’s default',
      shared: ['worker'],
      help: 'a profile that the directory offers. Otherwise no order is placed, and the escalation lists the profiles',
    },
    ACME_CA_FILE: {
      schema: text,
      help: 'PEM to trust for the directory; with `CERTIFICATES=external`, for the other edge’s certificates',
    },
    ACME_FALLBACK_DIRECTORY_URL: {
      schema: url(['https:']),
      shared: roleNames,
      help: 'the directory of [a second CA](certificate-authorities.md#a-second-certificate-authority), for when the first is down, limited or forbidden by CAA',
    },
    ACME_FALLBACK_ISSUER_DOMAINS: {
      schema: listOf(hostName),
      without: 'required with its directory',
      shared: ['api', 'worker'],
      help: 'its CAA identities',
    },
    ACME_FALLBACK_CA_FILE: { schema: text, help: 'PEM to trust for its directory' },
    ACME_FALLBACK_EAB_KID: { schema: text, help: 'its external account binding' },
    ACME_FALLBACK_EAB_HMAC_KEY: { schema: base64url, secret: true, help: 'its HMAC key' },
    ACME_FALLBACK_PROFILE: { schema: text, without: 'its default', help: 'its profile' },
  },
  DNS: {
    DNS_SERVERS: {
      schema: listOf(text.transform(socketAddress)),
      without: 'the system’s',
      help: 'recursive resolvers, `ip` or `ip:port`, comma-separated',
    },
    DNS_AUTHORITATIVE: {
      schema: flag,
      default: 'true',
      help: 'query the zone’s own name servers; `false` uses the resolvers only',
    },
  },
  'For test labs only': {
    WEBHOOK_ALLOW_PRIVATE: {
      schema: flag,
      default: 'false',
      help: 'whether webhooks can use http and private addresses. Anyone who can create a webhook can then make this machine call anything it reaches',
    },
    DNS_ALLOW_PRIVATE: {
      schema: flag,
      default: 'false',
      help: 'whether name servers can have private addresses',
    },
    DNS_AUTHORITY_PORT: { schema: port, default: '53', help: 'the port of name servers' },
    ACME_HTTP_PORT: {
      schema: port,
      default: '80',
      help: 'the port to which the CA sends http-01 challenges',
    },
    ACME_TLS_PORT: {
      schema: port,
      default: '443',
      help: 'the port to which the CA sends tls-alpn-01 challenges',
    },
    TIME_SCALE: {
      schema: timeScale,
      default: '1',
      shared: roleNames,
      help: 'divides every wait, such as those between checks, retries and repairs. Orders keep theirs, which follow the CA’s rate limits',
    },
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, VariableRow>>>>;

type Groups = typeof variableGroups;
type Rows = Flat<Groups[keyof Groups]>;
/** The intersection of a union's members. */
type Flat<T> = (T extends T ? (one: T) => void : never) extends (all: infer All) => void
  ? All
  : never;

export type VariableName = keyof Rows;
/** What each variable is read to; undefined only without a default. */
export type Variables = {
  readonly [Name in VariableName]:
    | z.output<Rows[Name]['schema']>
    | (Rows[Name] extends { readonly default: string } ? never : undefined);
};

export const variableRows = Object.assign({}, ...Object.values(variableGroups)) as Readonly<
  Record<VariableName, VariableRow>
>;
export const variableNames = Object.keys(variableRows) as readonly VariableName[];
