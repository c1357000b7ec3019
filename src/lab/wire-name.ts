/** Names of zone files as bytes; dns-packet cannot write a dot inside a label. */

/**
 * Returns a name of a zone file in wire form, without compression (RFC 1035, 5.1): `\DDD` is an octet, and `\.` a dot
 * inside a label. The empty name is the root. Lengths are not checked.
 */
export function encodeName(name: string): Buffer {
  const labels = name === '' ? [] : (name.match(/(?:\\\d{3}|\\.|[^.\\])+/gs) ?? []);
  const parts = labels.map((label) => {
    const octets = label
      .match(/\\\d{3}|\\.|[^\\]/gsu)
      ?.map((part) => (/^\\\d/.test(part) ? [Number(part.slice(1))] : bytesOf(part)));
    const content = Buffer.from((octets ?? []).flat());
    return Buffer.concat([Buffer.from([content.length]), content]);
  });
  return Buffer.concat([...parts, Buffer.from([0])]);
}

function bytesOf(part: string): number[] {
  return [...Buffer.from(part.startsWith('\\') ? part.slice(1) : part)];
}
