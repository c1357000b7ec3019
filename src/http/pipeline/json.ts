/** Value types of requests and responses, with their error texts and JSON Schemas. */
import { z } from 'zod';
import { DISORDERLY } from '../../core/names/printable.ts';
import { inTheseWords } from './validate.ts';

/** Values whose wire format zod does not know. `.meta()` and `.refine()` keep the entry. */
export const wireTypes = z.registry<z.core.JSONSchema.BaseSchema>();

const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;

/** The body parser returns bigint for digits (src/net/json.ts). Refuses `1.0` and `"7"`. */
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

/** A whole number within ±2^53: bigint as input, number as result. */
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

/** Digits as input, number as result; bounds from 0 to 2^53. */
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

export function uuid() {
  return z
    .guid({ error: inTheseWords('must be a UUID') })
    .register(wireTypes, { type: 'string', format: 'uuid' });
}

/** RFC 3339 in UTC, ending in `Z`. */
export function time() {
  return z.iso.datetime().register(wireTypes, { type: 'string', format: 'date-time' });
}

/** Refuses NUL (PostgreSQL cannot store it) and lone surrogates (UTF-8 cannot encode them). */
export function text({ min = 1, max }: { readonly min?: number; readonly max: number }) {
  const words = `must be a string of ${min} to ${max} characters, without NUL`;
  return textWithout('\\u0000', { min, max }, words);
}

/** Like `text`, without characters that break lines or change the text direction. */
export function nameText({ max }: { readonly max: number }) {
  const words = `must be a string of 1 to ${max} characters, without control characters or direction marks`;
  return textWithout(DISORDERLY, { min: 1, max }, words);
}

/** `without`: the inside of a character class, for a pattern without flags. */
function textWithout(without: string, { min, max }: Bounds, words: string) {
  const pattern = `^[^${without}]*$`;
  const hasOnlyOthers = new RegExp(pattern);
  return z
    .string({ error: inTheseWords(words) })
    .refine(
      (value) =>
        value.length >= min &&
        isWithin(value, max) &&
        hasOnlyOthers.test(value) &&
        !/\p{Surrogate}/u.test(value),
      words,
    )
    .register(wireTypes, { type: 'string', minLength: min, maxLength: max, pattern });
}

/** A character has one or two code units, so longer texts are refused without counting. */
function isWithin(value: string, max: number): boolean {
  return value.length <= 2 * max && [...value].length <= max;
}

/** Null outside int64 and for other spellings than JSON's: `-0`, `007`, `1e3`. */
export function int64Of(segment: string): bigint | null {
  if (!/^(?:0|-?[1-9]\d{0,18})$/.test(segment)) return null;
  const value = BigInt(segment);
  return value >= INT64_MIN && value <= INT64_MAX ? value : null;
}
