/**
 * Which of the three runs this is (the table in CONTRIBUTING.md): `npm test` shows every behavior once, on one storage
 * and with samples; `npm run test:long` does the same on every storage, with every combination and at full size.
 */

/** Set by `npm run test:long`. */
export const isLongRun = process.env['TEST_LONG'] === '1';

/** What a test repeats so many times: requests, packets, histories. An environment variable may say otherwise. */
export function sizeOfRun(size: { readonly quick: number; readonly long: number }): number {
  return isLongRun ? size.long : size.quick;
}

/** The rows of a table: all of them in the long run, in the quick one those that `quick` keeps. */
export function rowsOfRun<Row>(rows: readonly Row[], quick: (row: Row) => boolean): readonly Row[] {
  return isLongRun ? rows : rows.filter(quick);
}
