/**
 * Selects the run (the table in CONTRIBUTING.md): `npm test` shows every behavior once, on one storage and with
 * samples; `npm run test:long` covers every storage and combination at full size.
 */

export const isLongRun = process.env['TEST_LONG'] === '1';

/** The number of repetitions, as requests or histories; an environment variable overrides it. */
export function sizeOfRun(size: { readonly quick: number; readonly long: number }): number {
  return isLongRun ? size.long : size.quick;
}

/** All rows in the long run, in the quick run those that `quick` keeps. */
export function rowsOfRun<Row>(rows: readonly Row[], quick: (row: Row) => boolean): readonly Row[] {
  return isLongRun ? rows : rows.filter(quick);
}
