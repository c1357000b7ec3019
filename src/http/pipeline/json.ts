/**
 * The kinds of values that requests and answers are made of: each refuses in words, and says how JSON Schema describes it.
 */
import { z } from 'zod';
import { DISORDERLY } from '../../core/names/printable.ts';
import { inTheseWords } from './validate.ts';

/**
 * What a schema's values are for a client, in JSON Schema, wherever zod cannot know: a limit in a query is a number to the
 * client and text to us. Inherited by what `.meta()` and `.refine()` make of the schema; src/http/openapi/ reads it.
 */
export const wireTypes = z.registry<z.core.JSONSchema.BaseSchema>();

const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;

/**
 * A whole number of 64 bits, as a bigint, which a body's parser gives for digits (src/net/json.ts). `1.0` and `"7"` are
 * refused.
 */
export function int64() {
  const words = `must be a whole number from ${INT64_MIN} to ${INT64_MAX}`;
  return z
    .bigint({ error: inTheseWords(words) })
    .min(INT64_MIN, { error: words, abort: true })
    .max(INT64_MAX, words)
    .register(wireTypes, { type: 'integer', format: 'int64' });
}

/** Both are allowed values. */
type Bounds = { readonly min: number; readonly max: number };

/**
 * A whole number within bounds (both within ±2^53): a bigint on the way in, a number as the result. `words` replace the
 * refusal that names the bounds.
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
 * A whole number in a query, within bounds (0 to 2^53): digits alone on the way in, a number as the result, `default` where
 * the parameter is missing.
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

/** An id of ours, as a string: any UUID, whatever its version. */
export function uuid() {
  return z.guid().register(wireTypes, { type: 'string', format: 'uuid' });
}

/** A time of an answer: RFC 3339 in UTC, ending in `Z`. */
export function time() {
  return z.iso.datetime().register(wireTypes, { type: 'string', format: 'date-time' });
}

/**
 * Non-empty text of at most `max` characters (code points). NUL, which PostgreSQL cannot store, and half a
 * surrogate pair, which UTF-8 cannot carry, are refused rather than changed.
 */
export function text({ max }: { readonly max: number }) {
  const words = `must be a string of 1 to ${max} characters, without NUL`;
  return textWithout('\\u0000', max, words);
}

/** As `text`, for a name that people read: without what breaks a line or reorders what stands beside it. */
export function nameText({ max }: { readonly max: number }) {
  const words = `must be a string of 1 to ${max} characters, without control characters and marks that change the direction of text`;
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

/** A character takes one or two code units, so a text of more than twice as many is not counted through. */
function isWithin(value: string, max: number): boolean {
  return value.length <= 2 * max && [...value].length <= max;
}

/**
 * The number that a path segment writes, or null: digits as JSON writes them, so that each number has one spelling, within
 * int64. `-0`, `007` and `1e3` are null.
 */
export function int64Of(segment: string): bigint | null {
  if (!/^(?:0|-?[1-9]\d{0,18})$/.test(segment)) return null;
  const value = BigInt(segment);
  return value >= INT64_MIN && value <= INT64_MAX ? value : null;
}
