/** JSON in which every whole number is exact, in and out: int64 never passes through a double. */
import { parse, stringify } from 'lossless-json';

/** What came of a body. `problem`: a sentence for the client, where the code does not say enough. */
export type ParsedJson =
  | { readonly ok: true; readonly value: unknown }
  | {
      readonly ok: false;
      readonly code: 'malformed_json' | 'json_too_deep';
      readonly problem?: string;
    };

/** Arrays and objects in each other: the parser is recursive, and has to stay within its stack. */
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

/** Returns the JSON text of a value; bigint as digits, Date as RFC 3339, undefined fields left out. undefined: `null`. */
export function renderJson(value: unknown): string {
  return stringify(value) ?? 'null';
}

/** Null where the bytes are not UTF-8. */
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
