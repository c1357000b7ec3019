/** What the addresses of a host name answer where a CA sends its challenge (RFC 8555, 8.3). */
import { NAME_OCTETS_MAX } from '../names/hostname.ts';
import { toAsciiName } from '../names/idna.ts';
import { SECOND } from '../time.ts';

/** Let's Encrypt allows 10 s per connection; above this limit an address counts as slow. */
export const PROBE_MS = 3 * SECOND;

/** One HTTP response. Foreign text is printable and short. */
export type ReachAnswer = {
  /** Without the token. */
  readonly url: string;
  readonly address: string;
  readonly status: number;
  /** The `Server` header. */
  readonly server: string | null;
  /** By the header that it adds. */
  readonly proxy: { readonly name: string; readonly header: string } | null;
};

/** Why a redirect is not followed, as by Let's Encrypt. */
export type RedirectProblem =
  | 'too_many'
  | 'scheme'
  | 'port'
  | 'address'
  | 'missing_slash'
  | 'unreadable'
  | 'unresolved'
  | 'not_public';

/**
 * `edge`: our edge answered for this name. `other_answer`: another server, or one that cannot be
 * recognized from here. `no_tls`: no handshake for this name. `no_http`: the answer is not HTTP.
 * `no_route`: none from this machine. `reserved`: not public, so not queried.
 */
type ReachOutcome =
  | 'edge'
  | 'other_answer'
  | 'refused'
  | 'timeout'
  | 'no_route'
  | 'reserved'
  | 'no_tls'
  | 'no_http'
  | 'bad_redirect';

export type AddressReach = {
  readonly address: string;
  readonly port: number;
  readonly scheme: 'http' | 'https';
  readonly outcome: ReachOutcome;
  /** Of `bad_redirect`. */
  readonly redirect: { readonly problem: RedirectProblem; readonly to: string } | null;
  /** The address's own first, then those that redirects led to. */
  readonly answers: readonly ReachAnswer[];
  /** Without the token: where the last request went; null: none was sent. */
  readonly lastUrl: string | null;
};

/**
 * Headers that proxies add to responses: developers.cloudflare.com/fundamentals/reference/http-headers,
 * docs.aws.amazon.com/AmazonCloudFront (x-amz-cf-id), vercel.com/docs/headers,
 * docs.netlify.com (x-nf-request-id), fly.io/docs/networking/request-headers,
 * learn.microsoft.com/azure/frontdoor (x-azure-ref), docs.sucuri.net (x-sucuri-id),
 * docs.imperva.com (x-iinfo). `Via` is any proxy's (RFC 9110, 7.6.3).
 */
const proxyHeaders: readonly (readonly [header: string, name: string])[] = [
  ['cf-ray', 'Cloudflare'],
  ['x-amz-cf-id', 'Amazon CloudFront'],
  ['x-vercel-id', 'Vercel'],
  ['x-nf-request-id', 'Netlify'],
  ['fly-request-id', 'Fly.io'],
  ['x-azure-ref', 'Azure Front Door'],
  ['x-sucuri-id', 'Sucuri'],
  ['x-iinfo', 'Imperva'],
  ['via', 'a proxy'],
];

/** `headers`: with lower-case names. */
export function proxyIn(headers: Readonly<Record<string, unknown>>): ReachAnswer['proxy'] {
  const found = proxyHeaders.find(([header]) => headers[header] !== undefined);
  return found === undefined ? null : { header: found[0], name: found[1] };
}

/** As Let's Encrypt's validation (letsencrypt/boulder, va/http.go). */
export const REDIRECTS_FOLLOWED_MAX = 10;

/** 80 and 443 except in test labs. */
export type RedirectPorts = { readonly http: number; readonly https: number };

/** Where to go next, or why a CA would not. The caller resolves the name. Never throws. */
export function readRedirect(
  location: string,
  from: URL,
  ports: RedirectPorts,
): { readonly to: URL } | { readonly problem: RedirectProblem } {
  if (!URL.canParse(location, from.href)) return { problem: 'unreadable' };
  const to = new URL(location, from);
  if (to.protocol !== 'http:' && to.protocol !== 'https:') return { problem: 'scheme' };
  if (to.hostname.endsWith('.well-known')) return { problem: 'missing_slash' };
  if (/^\[|^[\d.]+$/.test(to.hostname)) return { problem: 'address' };
  const name = toAsciiName(to.hostname.replace(/\.$/, ''));
  if (!name.ok || name.ascii.length > NAME_OCTETS_MAX) return { problem: 'unreadable' };
  return [80, 443, ports.http, ports.https].includes(portOf(to)) ? { to } : { problem: 'port' };
}

export function portOf({ port, protocol }: URL): number {
  if (port !== '') return Number(port);
  return protocol === 'https:' ? 443 : 80;
}
