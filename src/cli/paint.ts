/** Colours of a terminal (ECMA-48, 8.3.117). What they say, a symbol or a word says too. */

const codes = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  blue: [34, 39],
} as const;

export type Style = keyof typeof codes;

/** Text in a style; the text itself must be fit to print. */
export type Paint = (style: Style, text: string) => string;

/** Paints, or leaves everything as it is. */
export function createPaint(colour: boolean): Paint {
  if (!colour) return (_style, text) => text;
  return (style, text) => {
    const [on, off] = codes[style];
    return text === '' ? '' : `\u001b[${on}m${text}\u001b[${off}m`;
  };
}

/** Whether to paint at all: for a person, who has not asked for none (https://no-color.org). */
export function wantsColour(
  env: Readonly<Record<string, string | undefined>>,
  isScreen: boolean,
): boolean {
  return isScreen && !env['NO_COLOR'] && env['TERM'] !== 'dumb';
}
