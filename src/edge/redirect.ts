/** Sends a visitor to the same place over HTTPS, at this or another domain. */
import type { ServerResponse } from 'node:http';
import type { EdgeRoute } from '../core/edge-route.ts';
import type { RequestTarget } from './request-target.ts';

/** To where a route redirects, with the status that the project chose; path and query stay as they came. */
export function followRedirect(
  response: ServerResponse,
  { to, status }: NonNullable<EdgeRoute['redirect']>,
  { path }: RequestTarget,
  httpsPort: number,
): void {
  // Settings change, and count for the next request: also for a browser, which would keep a 301 for ever.
  response.setHeader('Cache-Control', 'no-cache');
  redirect(response, status, locationOf(to, httpsPort, path));
}

/** To HTTPS at the same host. 308 keeps method and body (RFC 9110, 15.4.9). */
export function redirectToHttps(
  response: ServerResponse,
  { hostname, path }: RequestTarget,
  httpsPort: number,
): void {
  redirect(response, 308, locationOf(hostname, httpsPort, path));
}

/** Never another host: `path` begins with a slash, which ends the authority (RFC 3986, 3.2). */
function locationOf(hostname: string, httpsPort: number, path: string): string {
  const port = httpsPort === 443 ? '' : `:${httpsPort}`;
  return `https://${hostname}${port}${path}`;
}

function redirect(response: ServerResponse, status: number, location: string): void {
  response.writeHead(status, { Location: location, 'Content-Length': 0 });
  response.end();
}
