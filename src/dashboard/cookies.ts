/** The cookie of a session: for HTTPS alone, but on this machine, where some browsers keep no such cookie over HTTP. */
import type { Headers } from '../http/pipeline/route.ts';

/** Only over HTTPS, for the whole host, from this host (RFC 6265bis, 4.1.3.2). */
const SECURE = '__Host-signpost';
/** Over HTTP on a loopback host: Safari drops what has `Secure` there, and with it the prefix. */
const PLAIN = 'signpost';
/** Lax, so that a link in a mail leads to the page and not to the sign-in; what changes something has the token. */
const ATTRIBUTES = 'Path=/; HttpOnly; SameSite=Lax';

/** The token that a request brings, or undefined. The plain cookie counts on a loopback host alone. */
export function tokenIn(headers: Headers): string | undefined {
  return (
    cookieNamed(headers, SECURE) ??
    (isLoopbackHttp(headers) ? cookieNamed(headers, PLAIN) : undefined)
  );
}

/**
 * The Set-Cookie value for the answer to a form. It is `Secure` unless the form's own page was on a loopback host over HTTP,
 * as both the browser (`Origin`) and the request itself say: a proxy that ends TLS may have put its own name for us into
 * `Host`. `lifetimeS`: in seconds.
 */
export function sessionCookie(headers: Headers, token: string, lifetimeS: number): string {
  const isPlain = isLoopbackHttp(headers) && isLoopbackUrl(headers['origin'] ?? '');
  return `${isPlain ? `${PLAIN}=${token}` : secure(token)}; ${ATTRIBUTES}; Max-Age=${lifetimeS}`;
}

/** The Set-Cookie value that makes a browser forget the session that the request came with. */
export function endedCookie(headers: Headers): string {
  const isPlain = cookieNamed(headers, SECURE) === undefined && isLoopbackHttp(headers);
  return `${isPlain ? `${PLAIN}=` : secure('')}; ${ATTRIBUTES}; Max-Age=0`;
}

function secure(token: string): string {
  return `${SECURE}=${token}; Secure`;
}

function cookieNamed({ cookie = '' }: Headers, name: string): string | undefined {
  const prefix = `${name}=`;
  const pair = cookie.split(';').find((one) => one.trim().startsWith(prefix));
  return pair?.trim().slice(prefix.length);
}

/** What a proxy adds. One that says nothing of the scheme may have ended TLS. */
const proxied = ['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host'] as const;

/** Whether a request came over plain HTTP to a name of this machine. */
function isLoopbackHttp(headers: Headers): boolean {
  const scheme = headers['x-forwarded-proto'];
  const isHttp =
    scheme === undefined ? proxied.every((name) => headers[name] === undefined) : scheme === 'http';
  return isHttp && isLoopbackUrl(`http://${headers['host'] ?? ''}`);
}

/** `URL` writes an IPv4 address in one way only, however it was typed. */
function isLoopbackUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  const isLoopback =
    hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname);
  return protocol === 'http:' && isLoopback;
}
