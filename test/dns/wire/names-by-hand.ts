/** A simple decoder of the names in a message, to compare the real decoder with. */

/** A record's owner and its CNAME target, as labels of bytes. */
export type NamesOfRecord = {
  readonly owner: readonly string[];
  readonly alias: readonly string[] | undefined;
};

/** The labels at an offset with pointers followed; one lowercase character per byte. */
function labelsAt(bytes: Buffer, at: number): string[] {
  const length = bytes.readUInt8(at);
  if (length === 0) return [];
  if (length >= 0xc0) return labelsAt(bytes, bytes.readUInt16BE(at) & 0x3fff);
  const label = bytes.toString('latin1', at + 1, at + 1 + length);
  const folded = label.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
  return [folded, ...labelsAt(bytes, at + 1 + length)];
}

function skipName(bytes: Buffer, at: number): number {
  const length = bytes.readUInt8(at);
  if (length === 0) return at + 1;
  return length >= 0xc0 ? at + 2 : skipName(bytes, at + 1 + length);
}

/** The records of a message that the decoder has accepted, in order. */
export function namesByHand(bytes: Buffer): readonly NamesOfRecord[] {
  const [questions, records] = [bytes.readUInt16BE(4), [6, 8, 10]];
  let at = questions === 1 ? skipName(bytes, 12) + 4 : 12;
  let left = records.reduce((sum, field) => sum + bytes.readUInt16BE(field), 0);
  const found: NamesOfRecord[] = [];
  for (; left > 0; left--) {
    const fixed = skipName(bytes, at);
    const isAlias = bytes.readUInt16BE(fixed) === 5 && bytes.readUInt16BE(fixed + 2) === 1;
    const data = fixed + 10;
    found.push({
      owner: labelsAt(bytes, at),
      alias: isAlias ? labelsAt(bytes, data) : undefined,
    });
    at = data + bytes.readUInt16BE(fixed + 8);
  }
  return found;
}
