/**
 * V8's options for the processes that tests run in and start. PGlite is compiled once and quickly: a test's database lives
 * for seconds, and V8 would spend half of a process's start on optimizing it.
 */
export const v8Options = ['--liftoff-only'] as const;
