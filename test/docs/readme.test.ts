/** Covers every shell block of the README except for `npm test`. */
import { expect, it, onTestFinished } from 'vitest';
import { freePort } from '../support/servers.ts';
import { freshStorage } from '../support/storage.ts';
import { blocksOf } from './blocks.ts';
import { replaceAll, runShell, startLine } from './shell.ts';

const [commands = '', demo = '', pets = '', ...others] = blocksOf('README.md', 'sh');

it('The README has three shell blocks', () => {
  expect(others).toEqual([]);
  expect(commands.match(/^npm \w+/gm)).toEqual(['npm start', 'npm test']);
  expect(demo.split('\n')).toHaveLength(2); // test/flow/demo.test.ts runs it
});

it('The README’s first command starts the service, which answers the example calls', async () => {
  const { storage, close } = await freshStorage('embedded');
  onTestFinished(close);
  if (storage.kind !== 'embedded') throw new Error('freshStorage gave another storage');
  const port = await freePort();
  const env = {
    DATA_DIR: storage.dataDir,
    PORT: String(port),
    EDGE_HTTP_PORT: '0',
    EDGE_HTTPS_PORT: '0',
  };
  const start = commands.split('\n', 1)[0] ?? '';
  const { output } = await startLine(start, env, /signpost_\w{50}/);
  const key = /signpost_\w{50,}/.exec(output)?.[0] ?? '';

  const script = replaceAll(pets, [['localhost:3000', `localhost:${port}`]]);
  const { stdout, code } = await runShell(script.replaceAll('curl ', 'curl -sS '), { KEY: key });
  expect(code).toBe(0);
  const pet = { id: 1, name: 'Rex', categoryId: 1, status: 'available' };
  expect(stdout).toBe(`[]${JSON.stringify(pet)}${JSON.stringify(pet)}`);
});
