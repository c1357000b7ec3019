/** In lower case; no capture groups. */
export const uuidPattern = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';

const wholeUuid = new RegExp(`^${uuidPattern}$`);

export function isUuid(text: string): boolean {
  return wholeUuid.test(text);
}
