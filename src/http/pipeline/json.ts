/** Value types of requests and responses, with their error texts and JSON Schema. */
import { z } from 'zod';
import { DISORDERLY } from '../../core/names/printable.ts';
import { inTheseWords } from './validate.ts';

/**
 * JSON Schema of values whose form on the wire zod does not know: a limit in a query is a number
 * for clients and text on the wire. `.meta()` and `.refine()` keep the entry. src/http/openapi/
 * reads it.
 */
export const wireTypes = z.registry<z.core.JSONSchema.BaseSchema>();

const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;

/**
 * A 64-bit whole number as a bigint; the body parser returns bigint for digits (src/net/json.ts).
 * `1.0` and `"7"` are refused.
 */
export function int64() {
  const words = `must be a whole number from ${INT64_MIN} to ${INT64_MAX}`;
  return z
    .bigint({ error: inTheseWords(words) })
    .min(INT64_MIN, { error: words, abort: true })
    .max(INT64_MAX, words)
    .register(wireTypes, { type: 'integer', format: 'int64' });
}

/** Inclusive. */
type Bounds = { readonly min: number; readonly max: number };

/**
 * A whole number within bounds (both within ±2^53): bigint as input, number as result. `words`
 * replaces the error text.
 */
export function wholeNumber({
  min,
  max,
  words = `must be a whole number from ${min} to ${max}`,
}: Bounds & { readonly words?: string }) {
  return z
    .bigint({ error: inTheseWords(words) })
    .min(BigInt(min), words)
    .max(BigInt(max), words)
    .transform(Number)
    .register(wireTypes, { type: 'integer', minimum: min, maximum: max });
}

/**
 * A whole number in a query, within bounds (0 to 2^53): digits as input, number as result,
 * `default` if missing.
 */
export function queryInteger({ min, max, default: value }: Bounds & { readonly default: number }) {
  const isWithin = (text: string) =>
    /^(0|[1-9]\d{0,15})$/.test(text) && Number(text) >= min && Number(text) <= max;
  return z
    .string()
    .refine(isWithin, `must be a whole number from ${min} to ${max}`)
    .transform(Number)
    .default(value)
    .register(wireTypes, { type: 'integer', minimum: min, maximum: max, default: value });
}

/** Any UUID, of any version. */
export function uuid() {
  return z.guid().register(wireTypes, { type: 'string', format: 'uuid' });
}

/** RFC 3339 in UTC, ending in `Z`. */
export function time() {
  return z.iso.datetime().register(wireTypes, { type: 'string', format: 'date-time' });
}

/**
 * Non-empty text of at most `max` characters (code points). Refuses NUL, which PostgreSQL cannot
 * store, and lone surrogates, which UTF-8 cannot encode.
 */
export function text({ max }: { readonly max: number }) {
  const words = `must be a string of 1 to ${max} characters, without NUL`;
  return textWithout('\\u0000', max, words);
}

/** Like `text`, but without characters that break lines or change the text direction. */
export function nameText({ max }: { readonly max: number }) {
  const words = `must be a string of 1 to ${max} characters, without control characters or direction marks`;
  return textWithout(DISORDERLY, max, words);
}

/** `without`: the inside of a character class, for a pattern without flags. */
function textWithout(without: string, max: number, words: string) {
  const pattern = `^[^${without}]*$`;
  const hasOnlyOthers = new RegExp(pattern);
  return z
    .string({ error: inTheseWords(words) })
    .refine(
      (value) =>
        value !== '' &&
        isWithin(value, max) &&
        hasOnlyOthers.test(value) &&
        !/\p{Surrogate}/u.test(value),
      words,
    )
    .register(wireTypes, { type: 'string', minLength: 1, maxLength: max, pattern });
}

/** A character has one or two code units, so longer texts are refused without counting. */
function isWithin(value: string, max: number): boolean {
  return value.length <= 2 * max && [...value].length <= max;
}

/**
 * The number in a path segment, in int64 range and in its only JSON spelling. `-0`, `007` and `1e3`
 * are null.
 */
export function int64Of(segment: string): bigint | null {
  if (!/^(?:0|-?[1-9]\d{0,18})$/.test(segment)) return null;
  const value = BigInt(segment);
  return value >= INT64_MIN && value <= INT64_MAX ? value : null;
}
