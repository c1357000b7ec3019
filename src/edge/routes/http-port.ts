/** The plain HTTP port: answers ACME challenges and sends everybody else to HTTPS. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { EdgeDeps } from '../deps.ts';
import { pages, sendPage } from '../proxy/pages.ts';
import { followRedirect, type RequestTarget, redirectToHttps, requestTarget } from './redirect.ts';

/** RFC 8555, 8.3: the token is base64url; ours are never longer. */
const CHALLENGE = /^\/\.well-known\/acme-challenge\/([\w-]{1,128})(?:\?|$)/;

type HttpDeps = Pick<EdgeDeps, 'findChallenge' | 'findRoute'>;

/** `httpsPort`: where redirects lead. Throws what the look-ups throw. */
export async function handleHttp(
  deps: HttpDeps,
  httpsPort: number,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const target = requestTarget(request);
  if (target === null) return sendPage(response, pages.badRequest());
  const [, token] = CHALLENGE.exec(target.path) ?? [];
  // Before everything else: a name that has a certificate is challenged again for the next one.
  if (token !== undefined) return answerChallenge(deps, token, target, response);

  const route = await deps.findRoute(target.hostname);
  if (route === null) return sendPage(response, pages.unknownHost(target.hostname));
  // In one step, and also while the certificate of a name that only redirects is on its way.
  if (route.redirect !== null) return followRedirect(response, route.redirect, target, httpsPort);
  if (route.certificateId === null) {
    return sendPage(response, pages.certificatePending(target.hostname));
  }
  redirectToHttps(response, target, httpsPort);
}

async function answerChallenge(
  deps: HttpDeps,
  token: string,
  { hostname }: RequestTarget,
  response: ServerResponse,
): Promise<void> {
  // From memory: anybody may ask for any name.
  const isHeld = (await deps.findRoute(hostname)) !== null;
  const keyAuthorization = isHeld ? await deps.findChallenge(token, hostname) : null;
  if (keyAuthorization === null) return sendPage(response, pages.noChallenge());
  response.writeHead(200, {
    'Content-Type': 'text/plain; charset=utf-8',
    'Content-Length': Buffer.byteLength(keyAuthorization),
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'no-store',
  });
  response.end(keyAuthorization);
}
