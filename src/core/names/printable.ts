/** Everything invisible or able to reorder a line. */
const unprintable = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu;

/** Characters that break or reorder a line (UAX #9, 2). Joiners of letters are allowed. */
export const DISORDERLY =
  '\\u0000-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069';

const disorder = new RegExp(`(?![\\t\\n\\r])[${DISORDERLY}]`, 'g');

/** Escapes as `\u{…}`; keeps line breaks. */
export function withoutDisorder(text: string): string {
  return text.replace(disorder, escaped);
}

/** Escapes unprintable characters as `\u{…}`. */
export function printable(text: string, lengthMax: number): string {
  // A character has at most two code units, so this never cuts too much.
  const characters = [...text.slice(0, 2 * lengthMax + 2)];
  const kept = characters.slice(0, lengthMax).join('').replace(unprintable, escaped);
  return characters.length > lengthMax ? `${kept}…` : kept;
}

/** `a, b and 3 more`. */
export function shortList(items: readonly string[], countMax: number, separator = ', '): string {
  const shown = items.slice(0, countMax).join(separator);
  const left = items.length - countMax;
  return left > 0 ? `${shown} and ${left} more` : shown;
}

function escaped(character: string): string {
  return `\\u{${character.codePointAt(0)?.toString(16) ?? ''}}`;
}

/** `1 job`, `2 jobs`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
