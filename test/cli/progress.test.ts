import { expect, test } from 'vitest';
import { type Progress, withProgress } from '../../src/cli/progress.ts';

type Watched = {
  readonly interrupt?: boolean;
  readonly farewell?: string;
  readonly act?: (progress: Progress) => void;
};

/** The output while waiting, with Ctrl-C in between if requested. */
async function written(
  isScreen: boolean,
  env: Record<string, string>,
  { interrupt = false, farewell, act = () => {} }: Watched = {},
) {
  const said: string[] = [];
  const listeners = new Set<() => void>();
  await withProgress(
    {
      line,
      ...(farewell !== undefined && { farewell }),
    },
    {
      env,
      screen: { out: isScreen, err: isScreen, columns: 80 },
      err: (text) => void said.push(text),
      interruptions: {
        once: (listener) => void listeners.add(listener),
        off: (listener) => void listeners.delete(listener),
        end: () => void said.push('(ended)'),
      },
    },
    async (progress) => {
      act(progress);
      if (interrupt) for (const listener of listeners) listener();
    },
  );
  expect(listeners.size).toBe(0);
  return said;
}

const line = 'Checking docs.shop.test …';
const erased = '\r\u001b[K';

const onScreen = `${erased}${line}`;

test.each([
  ['a terminal', true, {}, [onScreen, erased]],
  ['a pipe', false, {}, []],
  ['a terminal without control sequences', true, { TERM: 'dumb' }, []],
])('The progress line on %s', async (_what, isScreen, env, said) => {
  expect(await written(isScreen, env)).toEqual(said);
});

test('Ctrl-C leaves a clean line before it ends the command', async () => {
  const interrupt = true;
  expect(await written(true, {}, { interrupt })).toEqual([onScreen, erased, '(ended)', erased]);
  const farewell = 'The checks go on.';
  const said = await written(true, {}, { interrupt, farewell });
  expect(said).toEqual([onScreen, `${erased}The checks go on.\n`, '(ended)', erased]);
});

const act = ({ show, say }: Progress) => {
  say('Found it.', 'It is gone.');
  show(`\u001b[31m${'x'.repeat(100)}`);
};

test('On a terminal, messages stay above the progress line, which never exceeds the width', async () => {
  const said = await written(true, {}, { act });
  expect(said).toEqual([
    onScreen,
    `${erased}Found it.\nIt is gone.\n${line}`,
    `${erased}\\u{1b}[31m${'x'.repeat(68)}…`,
    erased,
  ]);
});

test('Without a terminal, only messages are printed', async () => {
  expect(await written(false, {}, { act })).toEqual(['Found it.\nIt is gone.\n']);
});
