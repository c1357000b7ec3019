/** Forms that are sent to us: read, and taken only where they come from a page of ours. */
import type { RawRequest } from '../api.ts';
import { MAX_BODY_BYTES } from '../body.ts';
import type { Headers } from '../route.ts';
import { isOwnForm, type Session } from './session.ts';

export type ReadForm =
  | { readonly kind: 'form'; readonly form: URLSearchParams }
  | { readonly kind: 'too_large' }
  | { readonly kind: 'no_form' };

export async function readForm({ headers, readBody }: RawRequest): Promise<ReadForm> {
  const isForm = headers['content-type']?.startsWith('application/x-www-form-urlencoded');
  if (!isForm) return { kind: 'no_form' };
  if (Number(headers['content-length'] ?? 0) > MAX_BODY_BYTES) return { kind: 'too_large' };
  const read = await readBody();
  if (read.kind === 'bytes') {
    return { kind: 'form', form: new URLSearchParams(Buffer.from(read.bytes).toString()) };
  }
  const isLarge = read.kind === 'too_large' || read.code === 'body_too_large';
  return { kind: isLarge ? 'too_large' : 'no_form' };
}

/** What a browser says of where a request comes from (Fetch Metadata); the origin where it does not (RFC 6454, 7). */
export function cameFrom(headers: Headers): 'here' | 'elsewhere' | 'unsaid' {
  const { 'sec-fetch-site': site, origin, host } = headers;
  if (site === 'none') return 'unsaid'; // a person sends it again
  if (site !== undefined) return site === 'same-origin' ? 'here' : 'elsewhere';
  if (origin === undefined) return 'unsaid';
  return URL.canParse(origin) && new URL(origin).host === host ? 'here' : 'elsewhere';
}

/** A form of a session has its token; that of the sign-in has none, and must not come from another site. */
export function isFromHere(
  { headers }: Pick<RawRequest, 'headers'>,
  session: Session | null,
  form: URLSearchParams,
): boolean {
  if (session === null) return cameFrom(headers) !== 'elsewhere';
  // With the token the origin adds nothing, and a proxy may have changed the host that it is held to.
  const isForeign = cameFrom({ ...headers, origin: undefined }) === 'elsewhere';
  return !isForeign && isOwnForm(session, form.get('csrf'));
}
