import { afterAll, afterEach } from 'vitest';

/** Called and awaited in reverse order. */
export type Closings = (() => unknown)[];

/** A list whose entries are called after each test of the file or `describe`. */
export function closeAfterEach(): Closings {
  const closings: Closings = [];
  afterEach(() => closeAll(closings));
  return closings;
}

/** The same after the last test, for `beforeAll`. */
export function closeAfterAll(): Closings {
  const closings: Closings = [];
  afterAll(() => closeAll(closings));
  return closings;
}

/** Closes all, even if one fails, and throws the failure afterwards. */
async function closeAll(closings: Closings): Promise<void> {
  const faults: unknown[] = [];
  for (const close of closings.splice(0).reverse()) {
    try {
      await close();
    } catch (fault) {
      faults.push(fault);
    }
  }
  if (faults.length > 0) throw new AggregateError(faults, 'not everything could be closed');
}
