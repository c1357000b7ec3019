/** Which faults of a batch may be those of one of its rows. */

/**
 * Whether the database took offence at a row: the statement was undone, and the other rows of it may be fine. What
 * passed validation fits every column, but not every database: one whose encoding is not UTF-8 refuses a
 * character, and an operator may have added a constraint. Classes of PostgreSQL, appendix A.
 */
export function isRowRefused(fault: unknown): boolean {
  const code: unknown = typeof fault === 'object' && fault !== null && Reflect.get(fault, 'code');
  return typeof code === 'string' && /^(22|23)...$/.test(code); // data exception, integrity constraint violation
}
