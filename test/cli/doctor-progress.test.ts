/** The line that tells a person to wait. */
import { expect, test } from 'vitest';
import { withProgress } from '../../src/cli/doctor/progress.ts';

/** What was written while somebody waited, with Ctrl-C in between where that is wanted. */
async function written(isScreen: boolean, env: Record<string, string>, interrupt = false) {
  const said: string[] = [];
  const listeners = new Set<() => void>();
  await withProgress(
    'docs.shop.test',
    {
      env,
      screen: { out: isScreen, err: isScreen, columns: 80 },
      err: (text) => void said.push(text),
    },
    async () => {
      if (interrupt) for (const listener of listeners) listener();
    },
    {
      once: (listener) => void listeners.add(listener),
      off: (listener) => void listeners.delete(listener),
      end: () => void said.push('(ended)'),
    },
  );
  expect(listeners.size).toBe(0);
  return said;
}

const line = 'Looking at docs.shop.test …';
const erased = '\r\u001b[K';

test.each([
  ['a screen', true, {}, [line, erased]],
  ['a pipe', false, {}, []],
  ['a screen that knows no sequences', true, { TERM: 'dumb' }, []],
])('on %s', async (_what, isScreen, env, said) => {
  expect(await written(isScreen, env)).toEqual(said);
});

test('Ctrl-C leaves a clean line before it ends the command', async () => {
  expect(await written(true, {}, true)).toEqual([line, erased, '(ended)', erased]);
});
