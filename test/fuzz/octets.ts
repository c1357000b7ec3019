/** The UTF-8 of a text, one character (U+0000 to U+00FF) per octet. */
export function utf8(text: string): string {
  return Buffer.from(text, 'utf8').toString('latin1');
}

/** An ASCII JavaScript string, to paste into a test. */
export function escaped(octets: string): string {
  const inner = JSON.stringify(octets).replace(/\\u00([0-9a-f]{2})/g, '\\x$1');
  return inner.replace(
    /[\x7f-\xff]/g,
    (octet) => `\\x${octet.charCodeAt(0).toString(16).padStart(2, '0')}`,
  );
}
