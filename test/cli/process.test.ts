/** The command line as a process of its own: each command is loaded from where it was compiled to. */
import { expect, it } from 'vitest';
import { spawnSignpost } from './cli.ts';

const keyNeeded = 'signpost: SIGNPOST_API_KEY (or API_KEY) is required';

/** What each says first where nothing is set up; test/flow/demo.test.ts runs the demo. */
it.each([
  ['doctor docs.shop.test', 'signpost: to check from this machine, pass --target <host>'],
  ['domains list', keyNeeded],
  ['domains show docs.shop.test', keyNeeded],
  ['domains verify docs.shop.test', keyNeeded],
  ['domains add docs.shop.test', keyNeeded],
  ['keys list', keyNeeded],
  ['keys create --name shop --scope admin', keyNeeded],
  ['rotate-keys', 'signpost: KEY_ENCRYPTION_KEY is required'],
  ['zone', 'signpost: PLATFORM_DOMAIN is required'],
])('%s says what it needs', async (command, problem) => {
  const { code, stdout, stderr } = await spawnSignpost(command.split(' '));
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toContain(problem);
});
