/** From the bytes of a body to its JSON value, or to the refusal that says why not. */

import { parseJson } from '../../net/json.ts';
import { type Refusal, refuse } from './errors.ts';
import type { Headers } from './route.ts';

/** The limit that docs/api.md publishes. It is 64 KiB. */
export const MAX_BODY_BYTES = 65_536;

/** What reading a body came to. `bytes` may be empty; `broken`: the client's bytes stopped being HTTP, or stopped. */
export type BodyRead =
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  | { readonly kind: 'too_large' }
  | {
      readonly kind: 'broken';
      readonly code: 'bad_request' | 'request_timeout' | 'body_too_large';
    };

/** A parsed body with the bytes that it was made of, or the refusal. In `value`, whole numbers are bigint. */
export type JsonBody =
  | { readonly ok: true; readonly value: unknown; readonly bytes: Uint8Array }
  | { readonly ok: false; readonly refusal: Refusal };

/**
 * Reads a JSON body; where it is optional, an empty one is `{}`. What the headers alone rule out is refused before a byte is
 * asked for: a content coding, and a type that is not JSON. Rejects only where `readBody` does.
 */
export async function readJson(
  headers: Headers,
  readBody: () => Promise<BodyRead>,
  isOptional: boolean,
): Promise<JsonBody> {
  if (!isIdentity(headers['content-encoding'])) {
    const message = 'The body must not be compressed; send it as it is, without Content-Encoding.';
    return no(refuse('unsupported_media_type', message, { 'accept-encoding': 'identity' }));
  }
  const type = headers['content-type'];
  if (type !== undefined && !isJson(type)) return no(unsupportedType());
  const read = await readBody();
  if (read.kind === 'too_large') return no(refuse('body_too_large'));
  if (read.kind === 'broken') return no(refuse(read.code));
  if (read.bytes.length === 0 && isOptional) return { ok: true, value: {}, bytes: read.bytes };
  if (read.bytes.length === 0) return no(refuse('invalid_body', 'A JSON body is required.'));
  // Only now: an optional body that is not sent needs no type.
  if (type === undefined) return no(unsupportedType());
  const parsed = parseJson(read.bytes);
  return parsed.ok ? { ...parsed, bytes: read.bytes } : no(refuse(parsed.code, parsed.problem));
}

function no(refusal: Refusal): JsonBody {
  return { ok: false, refusal };
}

/** RFC 9110, 15.5.16: `Accept` says what would have been taken. */
function unsupportedType(): Refusal {
  return refuse('unsupported_media_type', undefined, { accept: 'application/json' });
}

/** Whether the body is sent as it is, without a content coding. */
function isIdentity(encoding: string | undefined): boolean {
  return encoding === undefined || encoding.trim().toLowerCase() === 'identity';
}

/** RFC 8259, 11 defines no charset; the usual superfluous one is let through. */
function isJson(type: string): boolean {
  return /^application\/json[ \t]*(;[ \t]*charset=("utf-8"|utf-8)[ \t]*)?$/i.test(type.trim());
}
