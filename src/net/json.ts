/** JSON in which every whole number is exact: int64 never becomes a double. */
import { parse, stringify } from 'lossless-json';

/** `problem`: a sentence for the client, if the code is not enough. */
export type ParsedJson =
  | { readonly ok: true; readonly value: unknown }
  | {
      readonly ok: false;
      readonly code: 'malformed_json' | 'json_too_deep';
      readonly problem?: string;
    };

/** The parser is recursive and must not overflow its stack. */
const MAX_DEPTH = 32;
const utf8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Whole numbers become bigint, others (`1.5`, `1e3`) number. Refuses duplicate names in an object,
 * because RFC 8259, 4 leaves open which value counts. `__proto__` is an ordinary name. Never
 * throws.
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
      problem: 'The body has an object with a duplicate name.',
    };
  } catch {
    return { ok: false, code: 'malformed_json' };
  }
}

/** bigint as digits, Date as RFC 3339, undefined fields omitted; undefined itself is `null`. */
export function renderJson(value: unknown): string {
  return stringify(value) ?? 'null';
}

/** Null if the bytes are not UTF-8. */
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

/** Before anything recursive sees the text. Skips strings; the parser rejects invalid JSON. */
function measure(text: string): { readonly depth: number; readonly names: number } {
  let [depth, deepest, names] = [0, 0, 0];
  for (const [token] of text.matchAll(tokens)) {
    if (token === '{' || token === '[') deepest = Math.max(deepest, ++depth);
    else if (token === '}' || token === ']') depth--;
    else if (token === ':') names++;
  }
  return { depth: deepest, names };
}

/** Fewer pairs than in the text if a name was duplicated. */
function countNames(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const own = Array.isArray(value) ? 0 : Object.keys(value).length;
  return Object.values(value).reduce((sum: number, part) => sum + countNames(part), own);
}
