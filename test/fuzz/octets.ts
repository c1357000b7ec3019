/** Octets as text: one character, U+0000 to U+00FF, for each. What is sent and read here is exact to the octet. */

/** The UTF-8 of a text, an octet a character. */
export function utf8(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}

/** As a string of JavaScript in ASCII alone: to be read in a failure, and to be pasted into a test. */
export function escaped(octets: string): string {
  const inner = JSON.stringify(octets).replace(/\\u00([0-9a-f]{2})/g, '\\x$1');
  return inner.replace(
    /[\x7f-\xff]/g,
    (octet) => `\\x${octet.charCodeAt(0).toString(16).padStart(2, '0')}`,
  );
}
