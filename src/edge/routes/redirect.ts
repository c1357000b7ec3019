import type { IncomingMessage, ServerResponse } from 'node:http';
import type { EdgeRoute } from '../../core/operations/edge-route.ts';

/** Path and query are unchanged. */
export function followRedirect(
  response: ServerResponse,
  { to, status }: NonNullable<EdgeRoute['redirect']>,
  { path }: RequestTarget,
  httpsPort: number,
): void {
  // Settings can change at any time, and browsers would cache a 301 forever.
  response.setHeader('Cache-Control', 'no-cache');
  redirect(response, status, locationOf(to, httpsPort, path));
}

/** 308 keeps method and body (RFC 9110, 15.4.9). */
export function redirectToHttps(
  response: ServerResponse,
  { hostname, path }: RequestTarget,
  httpsPort: number,
): void {
  redirect(response, 308, locationOf(hostname, httpsPort, path));
}

/** Cannot change the host: `path` starts with a slash, which ends the authority (RFC 3986, 3.2). */
function locationOf(hostname: string, httpsPort: number, path: string): string {
  const port = httpsPort === 443 ? '' : `:${httpsPort}`;
  return `https://${hostname}${port}${path}`;
}

function redirect(response: ServerResponse, status: number, location: string): void {
  response.writeHead(status, { Location: location, 'Content-Length': 0 });
  response.end();
}

/** Validated host and path (RFC 9112, 3.2). */
export type RequestTarget = {
  /** Lower case, no port, no trailing dot. */
  readonly hostname: string;
  /** The canonical host, with our port if it is not 443 and the client named it. */
  readonly authority: string;
  /** Starts with `/`; includes the query. */
  readonly path: string;
};

/** Labels of 1 to 63 characters, 253 in total; not an IP address. */
const HOSTNAME = /^(?=.{1,253}$)(?=.*[a-z])[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*$/;

/** Null if it cannot belong to any domain. */
export function requestTarget(
  { url = '', rawHeaders }: Pick<IncomingMessage, 'url' | 'rawHeaders'>,
  httpsPort: number,
): RequestTarget | null {
  const host = hostIn(rawHeaders);
  if (host === null) return null; // RFC 9112, 3.2: several Host headers are ambiguous
  if (url.startsWith('/')) return withHost(host, url, httpsPort);
  if (url === '*') return withHost(host, '/', httpsPort); // OPTIONS *
  // The absolute form overrides the Host header (RFC 9112, 3.2.2).
  const [, authority, path] = /^https?:\/\/([^/?#]+)([^#]*)$/i.exec(url) ?? [];
  if (authority === undefined || path === undefined) return null;
  return withHost(authority, path.startsWith('/') ? path : `/${path}`, httpsPort);
}

/** Empty if missing, null if repeated. */
function hostIn(fields: readonly string[]): string | null {
  let host: string | null = null;
  for (let at = 0; at < fields.length; at += 2) {
    const name = fields[at] ?? '';
    if (name.length !== HOST.length || name.toLowerCase() !== HOST) continue;
    if (host !== null) return null;
    host = fields[at + 1] ?? '';
  }
  return host ?? '';
}

const HOST = 'host';

/** RFC 4343: case-insensitive; a trailing dot is allowed. */
export function canonicalHostname(text: string): string | null {
  const name = text.toLowerCase().replace(/\.$/, '');
  return HOSTNAME.test(name) ? name : null;
}

function withHost(host: string, path: string, httpsPort: number): RequestTarget | null {
  const [, name = '', port = ''] = /^(.*?)(?::(\d{0,5}))?$/.exec(host) ?? [];
  const hostname = canonicalHostname(name);
  if (hostname === null) return null;
  const isOurs = httpsPort !== 443 && Number(port) === httpsPort;
  const authority = isOurs ? `${hostname}:${httpsPort}` : hostname;
  return { hostname, authority, path };
}
