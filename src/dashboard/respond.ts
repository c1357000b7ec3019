/** Pages, redirects and assets as they leave: with what every one of them is sent with. */
import type { RawRequest } from '../http/pipeline/api.ts';
import type { RawResponse } from '../http/pipeline/render.ts';
import type { Asset } from './assets.ts';
import { PAGE_POLICY } from './layout.ts';

const security = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'same-origin',
  'content-security-policy': PAGE_POLICY,
} as const;

/** `cache`: the Cache-Control. */
export function headersOf(text: string, contentType: string, cache: string) {
  return {
    'content-type': contentType,
    'content-length': String(Buffer.byteLength(text)),
    'cache-control': cache,
    ...security,
  };
}

export function shown(text: string, status: number): RawResponse {
  return { status, headers: headersOf(text, 'text/html; charset=utf-8', 'no-store'), body: text };
}

/** Throws where the address is none that a header can have (RFC 9110, 5.5): the server would drop the connection. */
export function redirect(location: string, cookie?: string): RawResponse {
  if (!/^[\x21-\x7e]+$/.test(location)) throw new Error('a redirect to what is no address');
  const headers = { location, 'cache-control': 'no-store', 'content-length': '0', ...security };
  return {
    status: 303,
    headers: cookie === undefined ? headers : { ...headers, 'set-cookie': cookie },
    body: '',
  };
}

/** Named by its content, so that it never changes. */
export function kept({ text, contentType }: Asset): RawResponse {
  return {
    status: 200,
    headers: {
      'content-type': contentType,
      'content-length': String(Buffer.byteLength(text)),
      'cache-control': 'public, max-age=31536000, immutable',
      ...security,
    },
    body: text,
  };
}

export function withoutBody({ method }: RawRequest, response: RawResponse): RawResponse {
  if (method !== 'HEAD') return response;
  const { stream, ...rest } = response;
  stream?.discard();
  return { ...rest, body: null };
}
