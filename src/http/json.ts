/** JSON in which every whole number is exact, in and out: int64 never passes through a double. */
import { parse, stringify } from 'lossless-json';
import { z } from 'zod';
import { DISORDERLY } from '../core/printable.ts';
import { inTheseWords } from './validate.ts';

export type ParsedJson =
  | { readonly ok: true; readonly value: unknown }
  | {
      readonly ok: false;
      readonly code: 'malformed_json' | 'json_too_deep';
      readonly problem?: string;
    };

const MAX_DEPTH = 32;
const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Parses a body. A number written in digits alone becomes a bigint (`-0` is 0n), any other (`1.5`, `1e3`)
 * a number; `007` is not JSON (RFC 8259, 6). A name that occurs twice in one object is refused, because
 * RFC 8259, 4 leaves open which value counts. `__proto__` is a name like any other. Never throws.
 */
export function parseJson(bytes: Uint8Array): ParsedJson {
  const text = decode(bytes);
  if (text === null) return { ok: false, code: 'malformed_json' };
  const { depth, names } = measure(text);
  if (depth > MAX_DEPTH) return { ok: false, code: 'json_too_deep' };
  try {
    const value = parse(text, undefined, { parseNumber, onDuplicateKey: keepFirst });
    if (countNames(value) === names) return { ok: true, value };
    return {
      ok: false,
      code: 'malformed_json',
      problem: 'A name occurs twice in one object of the body.',
    };
  } catch {
    return { ok: false, code: 'malformed_json' };
  }
}

/** The JSON text of a value; bigint as digits, Date as RFC 3339, undefined fields left out. */
export function renderJson(value: unknown): string {
  return stringify(value) ?? 'null';
}

function decode(bytes: Uint8Array): string | null {
  try {
    return utf8.decode(bytes);
  } catch {
    return null;
  }
}

function parseNumber(token: string): bigint | number {
  return /^-?\d+$/.test(token) ? BigInt(token) : Number(token);
}

function keepFirst({ oldValue }: { readonly oldValue: unknown }): unknown {
  return oldValue;
}

const tokens = /"(?:[^"\\]+|\\.)*"?|[[{\]}:]/gs; // never fails after a quote, so it is linear

/**
 * How deep a text nests and how many `name: value` pairs it has, in one pass and before anything
 * recursive sees it. Strings are skipped; what is not JSON is left to the parser.
 */
function measure(text: string): { readonly depth: number; readonly names: number } {
  let [depth, deepest, names] = [0, 0, 0];
  for (const [token] of text.matchAll(tokens)) {
    if (token === '{' || token === '[') deepest = Math.max(deepest, ++depth);
    else if (token === '}' || token === ']') depth--;
    else if (token === ':') names++;
  }
  return { depth: deepest, names };
}

/** The pairs that a parsed value kept: fewer than its text has where a name occurred twice. */
function countNames(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const own = Array.isArray(value) ? 0 : Object.keys(value).length;
  return Object.values(value).reduce((sum: number, part) => sum + countNames(part), own);
}

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
