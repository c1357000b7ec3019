/** Foreign text made fit to be read by a person, on any screen. */

/** Everything invisible or able to reorder a line: controls, formats, surrogates, odd spaces. */
const unprintable = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu;

/**
 * What no name may hold, as ranges of a character class: it breaks a line, or reorders what stands beside it (controls,
 * line separators, and the Bidi_Control characters of UAX #9, 2). What joins letters and emoji is not among them.
 */
export const DISORDERLY =
  '\\u0000-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069';

/** But for what text of several lines has between them. */
const disorder = new RegExp(`(?![\\t\\n\\r])[${DISORDERLY}]`, 'g');

/** The text with what reorders what stands beside it, and controls, as `\u{…}`; its lines stay lines. */
export function withoutDisorder(text: string): string {
  return text.replace(disorder, escaped);
}

/** The text, cut to `lengthMax` characters and an ellipsis; unprintable ones are then escaped as `\u{…}`. */
export function printable(text: string, lengthMax: number): string {
  // A character takes at most two code units, so the cut below cannot reach past this one.
  const characters = [...text.slice(0, 2 * lengthMax + 2)];
  const kept = characters.slice(0, lengthMax).join('').replace(unprintable, escaped);
  return characters.length > lengthMax ? `${kept}…` : kept;
}

/** Joins the first `countMax` items, then says how many more there are: `a, b and 3 more`. */
export function shortList(items: readonly string[], countMax: number, separator = ', '): string {
  const shown = items.slice(0, countMax).join(separator);
  const left = items.length - countMax;
  return left > 0 ? `${shown} and ${left} more` : shown;
}

function escaped(character: string): string {
  return `\\u{${character.codePointAt(0)?.toString(16) ?? ''}}`;
}
