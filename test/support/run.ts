/**
 * Selects the run (the table in CONTRIBUTING.md): `npm test` shows every behavior once, on one storage and with
 * samples; `npm run test:long` covers every storage and combination at full size.
 */

export const isLongRun = process.env['TEST_LONG'] === '1';

/**
 * Files of the long run only. They show the tests' own machinery, or what the quick run shows in fewer ways. The quick run
 * has one that is named on its command line.
 */
export const longFiles: readonly string[] = [
  'test/accounts/planted-leaks.test.ts',
  'test/accounts/two-browsers.test.ts',
  'test/dashboard/many-windows-browser.test.ts',
  'test/dashboard/parts-browser.test.ts',
  'test/dashboard/pictures-browser.test.ts',
  'test/flow/dashboard-adversity.test.ts',
  'test/http/openapi/page-browser.test.ts',
  'test/model/planted.test.ts',
  'test/process/interrupted-run.test.ts',
  'test/process/mixed-fleet.test.ts',
  'test/process/second-run.test.ts',
];

/** The number of repetitions, as requests or histories; an environment variable overrides it. */
export function sizeOfRun(size: { readonly quick: number; readonly long: number }): number {
  return isLongRun ? size.long : size.quick;
}

/** All rows in the long run, in the quick run those that `quick` keeps. */
export function rowsOfRun<Row>(rows: readonly Row[], quick: (row: Row) => boolean): readonly Row[] {
  return isLongRun ? rows : rows.filter(quick);
}
