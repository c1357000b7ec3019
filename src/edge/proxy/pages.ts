/** The few pages that the edge itself answers with: plain, without script, style or anything from outside. */

import type { ServerResponse } from 'node:http';
import { STATUS_CODES } from 'node:http';
import { html } from '../../net/html.ts';

/** What a page of ours says, and what goes with it. */
export type Page = {
  readonly status: number;
  /** Plain text; escaped here. */
  readonly title: string;
  readonly text: string;
  readonly retryAfterSeconds?: number;
  /** Also ends the connection: nothing more is to be said on it. */
  readonly close?: boolean;
};

/** Every page that the edge answers with, each by the reason for it. */
export const pages = {
  unknownHost: (hostname: string | null): Page => ({
    status: 404,
    title: 'Nothing is published here',
    text:
      hostname === null
        ? 'The request does not say which domain it is for.'
        : `${hostname} is not published here. If it is yours, your project says what is still missing.`,
    close: true,
  }),
  /** Its connection was opened while it was served: the next one fails in its handshake. */
  noLongerServed: (hostname: string): Page => ({ ...pages.unknownHost(hostname), status: 421 }),
  certificatePending: (hostname: string): Page => ({
    status: 503,
    title: 'Almost there',
    text: `The certificate for ${hostname} is on its way. This usually takes less than a minute.`,
    retryAfterSeconds: 15,
  }),
  misdirected: (): Page => ({
    status: 421,
    title: 'Misdirected request',
    text: 'This connection was opened for another domain.',
    close: true,
  }),
  notDeployed: (hostname: string): Page => ({
    status: 503,
    title: 'Nothing is deployed yet',
    text: `${hostname} works, but its project has no running deploy.`,
    retryAfterSeconds: 60,
  }),
  upstreamUnreachable: (hostname: string): Page => ({
    status: 502,
    title: 'The site does not answer',
    text: `The deploy behind ${hostname} could not be reached.`,
  }),
  upstreamRefused: (hostname: string): Page => ({
    status: 502,
    title: 'The site cannot be reached',
    text: `The deploy behind ${hostname} is at an address or a port that deploys may not have.`,
  }),
  upstreamUnverified: (hostname: string): Page => ({
    status: 502,
    title: 'The site cannot be trusted',
    text: `The deploy behind ${hostname} has a certificate that does not verify.`,
  }),
  upstreamSlow: (hostname: string): Page => ({
    status: 504,
    title: 'The site takes too long',
    text: `The deploy behind ${hostname} did not answer in time.`,
  }),
  loop: (hostname: string): Page => ({
    status: 508,
    title: 'The site points at itself',
    text: `The deploy behind ${hostname} leads back here.`,
  }),
  badRequest: (): Page => ({
    status: 400,
    title: 'This request cannot be understood',
    text: 'Its target or its Host header is malformed.',
    close: true,
  }),
  tooManyFields: (): Page => ({
    status: 431,
    title: 'Too many header fields',
    text: 'A request may have 100 header fields. A browser that sends more usually has too many cookies for this site.',
    close: true,
  }),
  notAllowed: (): Page => ({
    status: 405,
    title: 'This method is not allowed',
    text: 'TRACE is not answered here.',
    close: true,
  }),
  busy: (hostname: string): Page => ({
    status: 503,
    title: 'Too many visitors at once',
    text: `${hostname} has as many requests under way as it may have. Please try again in a few seconds.`,
    retryAfterSeconds: 5,
  }),
  tooMany: (): Page => ({
    status: 429,
    title: 'Too many requests at once',
    text: 'There are as many requests under way from your address, or altogether, as there may be. Please try again in a few seconds.',
    retryAfterSeconds: 5,
  }),
  noChallenge: (): Page => ({
    status: 404,
    title: 'No such challenge',
    text: 'No certificate is being validated with this token for this domain.',
  }),
  outOfOrder: (): Page => ({
    status: 503,
    title: 'Temporarily out of order',
    text: 'This is our fault. Please try again in a moment.',
    retryAfterSeconds: 10,
  }),
} as const;

/** Sends a page, unless the answer has begun: then the connection ends, so that nobody takes a part for the whole. */
export function sendPage(response: ServerResponse, page: Page): void {
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
  response.end(body); // node leaves the body out for HEAD
}

function render({ status, title, text }: Page): string {
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
