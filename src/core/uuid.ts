/** The ids of rows, as we write them: UUIDs in lower case. PostgreSQL would choke on what is none. */

/** A part of a regular expression, without groups of its own. */
export const uuidPattern = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';

const wholeUuid = new RegExp(`^${uuidPattern}$`);

/** Whether a text may be asked for as a row's id. */
export function isUuid(text: string): boolean {
  return wholeUuid.test(text);
}
