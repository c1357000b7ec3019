/**
 * V8 options for test processes and their children. Compiles PGlite once and fast: a test's database lives for seconds,
 * and optimizing it would take half of a process's start.
 */
export const v8Options = ['--liftoff-only'] as const;
