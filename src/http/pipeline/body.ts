import { parseJson } from '../../net/json.ts';
import { type Refusal, refuse } from './errors.ts';
import type { Headers } from './route.ts';

/** docs/integrate/api.md documents this limit. */
export const MAX_BODY_BYTES = 65_536;

/** `bytes` can be empty. `broken`: the client sent invalid HTTP or stopped sending. */
export type BodyRead =
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  | { readonly kind: 'too_large' }
  | {
      readonly kind: 'broken';
      readonly code: 'bad_request' | 'request_timeout' | 'body_too_large';
    };

export type JsonBody =
  | { readonly ok: true; readonly value: unknown; readonly bytes: Uint8Array }
  | { readonly ok: false; readonly refusal: Refusal };

/** Refuses other codings and media types before reading. An empty optional body is `{}`. */
export async function readJson(
  headers: Headers,
  readBody: () => Promise<BodyRead>,
  isOptional: boolean,
): Promise<JsonBody> {
  if (!isIdentity(headers['content-encoding'])) {
    const message = 'The body must not be compressed. Send it without Content-Encoding.';
    return no(refuse('unsupported_media_type', message, { 'accept-encoding': 'identity' }));
  }
  const type = headers['content-type'];
  if (type !== undefined && !isJson(type)) return no(unsupportedType());
  const read = await readBody();
  if (read.kind === 'too_large') return no(refuse('body_too_large'));
  if (read.kind === 'broken') return no(refuse(read.code));
  if (read.bytes.length === 0 && isOptional) return { ok: true, value: {}, bytes: read.bytes };
  if (read.bytes.length === 0) return no(refuse('invalid_body', 'A JSON body is required.'));
  // Checked last: an omitted optional body needs no type.
  if (type === undefined) return no(unsupportedType());
  const parsed = parseJson(read.bytes);
  return parsed.ok ? { ...parsed, bytes: read.bytes } : no(refuse(parsed.code, parsed.problem));
}

function no(refusal: Refusal): JsonBody {
  return { ok: false, refusal };
}

/** RFC 9110, 15.5.16: `Accept` lists the supported types. */
function unsupportedType(): Refusal {
  return refuse('unsupported_media_type', undefined, { accept: 'application/json' });
}

function isIdentity(encoding: string | undefined): boolean {
  return encoding === undefined || encoding.trim().toLowerCase() === 'identity';
}

/** RFC 8259, 11 defines no charset; the common `charset=utf-8` is accepted. */
function isJson(type: string): boolean {
  return /^application\/json[ \t]*(;[ \t]*charset=("utf-8"|utf-8)[ \t]*)?$/i.test(type.trim());
}
