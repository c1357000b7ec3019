/** Which host and path a request is for (RFC 9112, 3.2 and 3.3). */
import type { IncomingMessage } from 'node:http';

export type RequestTarget = {
  /** Lower case, no port, no trailing dot. */
  readonly hostname: string;
  /** The host as the client wrote it, with the port if it named one. */
  readonly authority: string;
  /** Begins with `/`; the query with it. */
  readonly path: string;
};

/** Letters, digits, hyphens and underscores in labels of 1 to 63 characters, 253 in all; no address. */
const HOSTNAME = /^(?=.{1,253}$)(?=.*[a-z])[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*$/;

/** The target of a request; null where it has none that could be anybody's. */
export function requestTarget({
  url = '',
  headersDistinct,
}: Pick<IncomingMessage, 'url' | 'headersDistinct'>): RequestTarget | null {
  const [host = '', ...others] = headersDistinct['host'] ?? [];
  if (others.length > 0) return null; // RFC 9112, 3.2: whoever reads the other one is deceived
  if (url.startsWith('/')) return withHost(host, url);
  if (url === '*') return withHost(host, '/'); // OPTIONS *
  // The absolute form overrules the Host header (RFC 9112, 3.2.2).
  const [, authority, path] = /^https?:\/\/([^/?#]+)([^#]*)$/i.exec(url) ?? [];
  if (authority === undefined || path === undefined) return null;
  return withHost(authority, path.startsWith('/') ? path : `/${path}`);
}

/** A host name in its one spelling (RFC 4343: case does not matter; the root's dot may be written), or null. */
export function canonicalHostname(text: string): string | null {
  const name = text.toLowerCase().replace(/\.$/, '');
  return HOSTNAME.test(name) ? name : null;
}

function withHost(authority: string, path: string): RequestTarget | null {
  const hostname = canonicalHostname(authority.replace(/:\d{0,5}$/, ''));
  return hostname === null ? null : { hostname, authority, path };
}
