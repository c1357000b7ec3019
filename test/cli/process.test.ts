/** Each command is loaded from its compiled file. */
import { expect, it } from 'vitest';
import { spawnSignpost } from './cli.ts';

const keyNeeded = 'signpost: SIGNPOST_API_KEY (or API_KEY) is required';

/** Each command's first output without configuration; test/flow/demo.test.ts runs the demo. */
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
