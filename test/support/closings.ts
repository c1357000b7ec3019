/** What the tests of a file have opened: all of it is closed again, the last one first. */
import { afterAll, afterEach } from 'vitest';

/** Closes what is pushed, and waits for it. */
export type Closings = (() => unknown)[];

/** A list whose entries are called after each test of the file or `describe` that asks for it. */
export function closeAfterEach(): Closings {
  const closings: Closings = [];
  afterEach(() => closeAll(closings));
  return closings;
}

/** The same after the last test, for what `beforeAll` opens. */
export function closeAfterAll(): Closings {
  const closings: Closings = [];
  afterAll(() => closeAll(closings));
  return closings;
}

/** One that fails keeps none of the others open, and is told afterwards. */
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
