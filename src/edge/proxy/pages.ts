/** The edge's own error pages: plain HTML without scripts, styles or external resources. */

import type { ServerResponse } from 'node:http';
import { STATUS_CODES } from 'node:http';
import { html } from '../../net/html.ts';

export type ErrorPage = {
  readonly status: number;
  /** Plain text; escaped here. */
  readonly title: string;
  readonly text: string;
  readonly retryAfterSeconds?: number;
  readonly close?: boolean;
};

function noSiteHere(status: 404 | 421, hostname: string | null): ErrorPage {
  const text =
    hostname === null
      ? 'The request does not name a domain. Open the site by its domain name.'
      : `${hostname} is not published here. If you own it, check its status in your project.`;
  return { status, title: 'No site here', text, close: true };
}

export const pages = {
  unknownHost: (hostname: string | null) => noSiteHere(404, hostname),
  /** The connection was opened while the name was served. The next handshake fails. */
  noLongerServed: (hostname: string) => noSiteHere(421, hostname),
  certificatePending: (hostname: string): ErrorPage => ({
    status: 503,
    title: 'Almost there',
    text: `The certificate for ${hostname} is being issued. This usually takes less than a minute. Reload the page.`,
    retryAfterSeconds: 15,
  }),
  misdirected: (): ErrorPage => ({
    status: 421,
    title: 'Misdirected request',
    text: 'This connection was opened for another domain. Reload the page.',
    close: true,
  }),
  notDeployed: (hostname: string): ErrorPage => ({
    status: 503,
    title: 'No deploy yet',
    text: `${hostname} works, but its project has no running deploy. If you own it, deploy the project.`,
    retryAfterSeconds: 60,
  }),
  upstreamUnreachable: (hostname: string): ErrorPage => ({
    status: 502,
    title: 'The site is unavailable',
    text: `The server behind ${hostname} could not be reached. Try again later, or contact the site’s owner.`,
  }),
  upstreamRefused: (hostname: string): ErrorPage => ({
    status: 502,
    title: 'The site is unavailable',
    text: `The address of the server behind ${hostname} is not allowed. Contact the site’s owner.`,
  }),
  upstreamUnverified: (hostname: string): ErrorPage => ({
    status: 502,
    title: 'The site is unavailable',
    text: `The certificate of the server behind ${hostname} is not valid. Contact the site’s owner.`,
  }),
  upstreamSlow: (hostname: string): ErrorPage => ({
    status: 504,
    title: 'The site took too long to respond',
    text: `The server behind ${hostname} did not answer in time. Try again later, or contact the site’s owner.`,
  }),
  loop: (hostname: string): ErrorPage => ({
    status: 508,
    title: 'Loop detected',
    text: `The server behind ${hostname} sends requests back to this server. Contact the site’s owner.`,
  }),
  badRequest: (): ErrorPage => ({
    status: 400,
    title: 'Bad request',
    text: 'The request target or the Host header is malformed. Check the URL.',
    close: true,
  }),
  unsupportedCoding: (): ErrorPage => ({
    status: 400,
    title: 'Bad request',
    text: 'The only supported transfer coding is chunked.',
    close: true,
  }),
  tooManyFields: (): ErrorPage => ({
    status: 431,
    title: 'Too many header fields',
    text: 'The limit is 100 header fields. The usual cause is too many cookies. Delete the cookies of this site.',
    close: true,
  }),
  notAllowed: (): ErrorPage => ({
    status: 405,
    title: 'Method not allowed',
    text: 'TRACE is not supported.',
    close: true,
  }),
  busy: (hostname: string): ErrorPage => ({
    status: 503,
    title: 'Too many requests',
    text: `${hostname} is receiving too many requests. Try again in a few seconds.`,
    retryAfterSeconds: 5,
  }),
  tooMany: (): ErrorPage => ({
    status: 429,
    title: 'Too many requests',
    text: 'This server received too many requests from your network, or it is busy. Try again in a few seconds.',
    retryAfterSeconds: 5,
  }),
  noChallenge: (): ErrorPage => ({
    status: 404,
    title: 'Unknown challenge',
    text: 'This token does not belong to a pending certificate of this domain.',
  }),
  outOfOrder: (): ErrorPage => ({
    status: 503,
    title: 'Temporarily unavailable',
    text: 'An internal error occurred. Try again in a moment.',
    retryAfterSeconds: 10,
  }),
} as const;

/** Closes the connection of a started response, so that it is not taken for a complete one. */
export function sendPage(response: ServerResponse, page: ErrorPage): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const body = render(page);
  if (page.close === true) response.shouldKeepAlive = false;
  response.writeHead(page.status, {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    'Content-Security-Policy': "default-src 'none'",
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'no-store',
    ...(page.retryAfterSeconds === undefined ? {} : { 'Retry-After': page.retryAfterSeconds }),
  });
  response.end(body); // Node.js omits the body for HEAD
}

function render({ status, title, text }: ErrorPage): string {
  const reason = `${status} ${STATUS_CODES[status] ?? ''}`.trim();
  return html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<h1>${title}</h1>
<p>${text}</p>
<p><small>${reason}</small></p>
</html>
`.html;
}
