/**
 * What the addresses of a host name answer where a certificate authority asks for its challenge (RFC 8555, 8.3) and where
 * visitors come: the answers, who gave them, and where redirects may lead. src/certificates/reach/challenge-path.ts asks;
 * reach-words.ts says it.
 */

/** One answer of HTTP on the way; texts are printable and short. */
export type ReachAnswer = {
  /** What was asked, without the token. */
  readonly url: string;
  readonly address: string;
  readonly status: number;
  /** The `Server` field; null: none. */
  readonly server: string | null;
  /** Who passed the request on, by a field that they leave; null: nobody who says so. */
  readonly proxy: { readonly name: string; readonly field: string } | null;
};

/** Why a redirect is not followed, as a certificate authority would not. */
export type BadRedirect =
  | 'too_many'
  | 'scheme'
  | 'port'
  | 'address'
  | 'glued'
  | 'unreadable'
  | 'unresolved'
  | 'not_public';

/**
 * How it ended. `edge`: one of our edges answered for this name. `other_answer`: somebody else, or an edge that does not
 * have the name. `no_tls`: no handshake for this name. `no_http`: what came is no HTTP. `no_route`: this machine has no way
 * there. `reserved`: nobody on the internet has, so it was not asked.
 */
export type ReachEnd =
  | {
      readonly outcome:
        | 'edge'
        | 'other_answer'
        | 'refused'
        | 'timeout'
        | 'no_route'
        | 'reserved'
        | 'no_tls'
        | 'no_http';
    }
  | { readonly outcome: 'bad_redirect'; readonly reason: BadRedirect; readonly to: string };

/** One address of the host name, at one of the two ports. */
export type AddressReach = {
  readonly address: string;
  readonly port: number;
  readonly scheme: 'http' | 'https';
  /** The address's own answer first, then those to which redirects led. */
  readonly answers: readonly ReachAnswer[];
  readonly end: ReachEnd;
};

/**
 * Fields that proxies leave in what they pass on, each as its maker publishes it: developers.cloudflare.com/fundamentals/
 * reference/http-headers, docs.aws.amazon.com/AmazonCloudFront (x-amz-cf-id), vercel.com/docs/headers, docs.netlify.com
 * (x-nf-request-id), fly.io/docs/networking/request-headers, learn.microsoft.com/azure/frontdoor (x-azure-ref),
 * docs.sucuri.net (x-sucuri-id), docs.imperva.com (x-iinfo). `Via` names a proxy of any make (RFC 9110, 7.6.3).
 */
const proxyFields: readonly (readonly [string, string])[] = [
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

/** Returns who passed an answer on, by its fields with lower-case names; null where none of them says so. */
export function proxyIn(fields: Readonly<Record<string, unknown>>): ReachAnswer['proxy'] {
  const found = proxyFields.find(([field]) => fields[field] !== undefined);
  return found === undefined ? null : { field: found[0], name: found[1] };
}

/** Let's Encrypt's VA (letsencrypt/boulder, va/http.go): at most ten, to http and https, to ports 80 and 443, to names. */
export const REDIRECTS_MAX = 10;

/** Where redirects may lead; others than 80 and 443 in laboratories. */
export type RedirectPorts = { readonly http: number; readonly https: number };

/**
 * Reads the `Location` of an answer to `from`: where to ask next, or why an authority would not. Whether its host has an
 * address that may be asked is known to whoever asks. Pure; never throws.
 */
export function readRedirect(
  location: string,
  from: URL,
  ports: RedirectPorts,
): { readonly to: URL } | { readonly reason: BadRedirect } {
  if (!URL.canParse(location, from.href)) return { reason: 'unreadable' };
  const to = new URL(location, from);
  if (to.protocol !== 'http:' && to.protocol !== 'https:') return { reason: 'scheme' };
  if (/\.well-known$/.test(to.hostname)) return { reason: 'glued' };
  if (/^\[|^[\d.]+$/.test(to.hostname)) return { reason: 'address' };
  const usual = to.protocol === 'http:' ? 80 : 443;
  const port = to.port === '' ? usual : Number(to.port);
  const isFine = [80, 443, ports.http, ports.https].includes(port);
  return isFine ? { to } : { reason: 'port' };
}
