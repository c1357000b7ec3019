/** Cleanups in reverse order; a failing one does not stop the others. */

export type Endings = {
  push(what: string, end: () => Promise<unknown>): void;
  run(): Promise<void>;
};

/** Slower cleanups are abandoned; their processes are killed when this one exits. */
const PATIENCE_MS = 30_000;

export function createEndings(print: (line: string) => void): Endings {
  const stack: { readonly what: string; end(): Promise<unknown> }[] = [];
  let running: Promise<void> | null = null;

  async function endAll(): Promise<void> {
    for (let one = stack.pop(); one !== undefined; one = stack.pop()) {
      const { what, end } = one;
      await within(end()).catch((fault: unknown) => print(`could not end ${what}: ${fault}`));
    }
  }

  return {
    push: (what, end) => void stack.push({ what, end }),
    run() {
      running ??= endAll();
      return running;
    },
  };
}

async function within(work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('it takes too long')), PATIENCE_MS);
  });
  await Promise.race([work, late]).finally(() => clearTimeout(timer));
}
