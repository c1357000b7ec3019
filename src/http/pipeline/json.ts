/** The kinds of values that requests and answers are made of: each refuses in words, and says what it is in JSON Schema. */
import { z } from 'zod';
import { DISORDERLY } from '../../core/names/printable.ts';
import { inTheseWords } from './validate.ts';

/**
 * What a schema's values look like to a client, in JSON Schema, wherever zod cannot tell: a limit in a query is a number to
 * the client and text to us. Inherited by what `.meta()` and `.refine()` make of the schema; src/http/openapi/ reads it.
 */
export const wireTypes = z.registry<z.core.JSONSchema.BaseSchema>();

const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;

/** A whole number of 64 bits, as a bigint. */
export function int64() {
  const words = `must be a whole number from ${INT64_MIN} to ${INT64_MAX}`;
  return z
    .bigint({ error: inTheseWords(words) })
    .min(INT64_MIN, { error: words, abort: true })
    .max(INT64_MAX, words)
    .register(wireTypes, { type: 'integer', format: 'int64' });
}

type Bounds = { readonly min: number; readonly max: number };

/** A whole number within bounds (both within ±2^53), as a number. `words`: where a refusal has more to say than them. */
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

/** A whole number in a query, within bounds (0 to 2^53) and written in digits alone, as a number. */
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

/** An id of ours. */
export function uuid() {
  return z.guid().register(wireTypes, { type: 'string', format: 'uuid' });
}

/** A time as answers write it: RFC 3339 in UTC. */
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

/** `without`: of a character class. */
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

function isWithin(value: string, max: number): boolean {
  return value.length <= 2 * max && [...value].length <= max;
}

/** The number that a path or query segment writes, or null: digits as JSON writes them, within int64. */
export function int64Of(segment: string): bigint | null {
  if (!/^(?:0|-?[1-9]\d{0,18})$/.test(segment)) return null;
  const value = BigInt(segment);
  return value >= INT64_MIN && value <= INT64_MAX ? value : null;
}
