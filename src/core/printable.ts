/** Foreign text made fit to be read by a person, on any screen. */

/** Everything invisible or able to reorder a line: controls, formats, surrogates, odd spaces. */
const unprintable = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu;

/** The text with unprintable characters as `\u{…}`, cut to `lengthMax` characters with an ellipsis. */
export function printable(text: string, lengthMax: number): string {
  // A character takes at most two code units, so the cut below cannot reach past this one.
  const characters = [...text.slice(0, 2 * lengthMax + 2)];
  const kept = characters.slice(0, lengthMax).join('').replace(unprintable, escaped);
  return characters.length > lengthMax ? `${kept}…` : kept;
}

/** The first `countMax` items, then how many more there are. */
export function shortList(items: readonly string[], countMax: number): string {
  const shown = items.slice(0, countMax).join(', ');
  const left = items.length - countMax;
  return left > 0 ? `${shown} and ${left} more` : shown;
}

function escaped(character: string): string {
  return `\\u{${character.codePointAt(0)?.toString(16) ?? ''}}`;
}
