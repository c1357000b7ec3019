import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { signpost } from './cli.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const KEY = { SIGNPOST_API_KEY: 'a key of an operator' };

describe('signpost', () => {
  it.each([['help'], ['--help'], ['-h']])('%s shows the commands', async (word) => {
    const { code, stdout, stderr } = await signpost([word]);
    expect([code, stderr]).toEqual([0, '']);
    for (const name of ['demo', 'keys', 'rotate-keys', 'zone', 'help'])
      expect(stdout).toMatch(`\n  ${name} `);
  });

  it.each([
    ['keys', 'help'],
    ['keys', '--help'],
    ['keys', 'create', '--help'],
    ['keys', 'list', '-h'],
    ['help', 'keys'],
  ])('%s %s shows the commands for keys', async (...args) => {
    const { code, stdout, stderr } = await signpost(args);
    expect([code, stderr]).toEqual([0, '']);
    for (const name of ['list', 'create', 'rotate', 'revoke'])
      expect(stdout).toMatch(`\n  ${name} `);
  });

  it.each(['doctor', 'rotate-keys', 'zone'])(
    'help %s shows what its --help shows',
    async (command) => {
      const { code, stdout, stderr } = await signpost(['help', command]);
      expect([code, stderr]).toEqual([0, '']);
      expect(stdout).toBe((await signpost([command, '--help'])).stdout);
    },
  );

  it('--version is the version of the package', async () => {
    const { version } = JSON.parse(await readFile(`${root}package.json`, 'utf8'));
    expect(await signpost(['--version'])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
  });

  const missingKeyId =
    'the id of the key is missing: the part after signpost_, up to the next _; signpost keys list shows it';
  const misunderstood: readonly (readonly [args: string, problem: string])[] = [
    ['', 'which command?'],
    ['key', 'there is no command key; did you mean keys?'],
    ['domain', 'there is no command domain; did you mean domains?'],
    ['DOCTER', 'there is no command DOCTER; did you mean doctor?'],
    ['help docter', 'there is no command docter; did you mean doctor?'],
    ['demo docs.shop.test', 'it takes options only, and nothing else'],
    ['constructor', 'there is no command constructor'],
    ['keys', 'which command?'],
    ['zone edge.example.net', '“edge.example.net” is too much'],
    ['keys destroy', 'there is no command keys destroy'],
    ['keys rovoke', 'there is no command keys rovoke; did you mean keys revoke?'],
    ['keys list --colour', "Unknown option '--colour'"],
    ['keys list everything', 'it takes options only, and nothing else'],
    ['keys list --jsno', "Unknown option '--jsno'; did you mean --json?"],
    ['keys create --scope admin', '--name is needed: what is the key for?'],
    ['keys create --name shop', '--scope is needed: what may the key do?'],
    ['keys create --name', "Option '--name <value>' argument missing"],
    ['keys create --name a --scope admin --expires soon', '--expires soon: neither 90d nor a time'],
    ['keys create --name a --scope admin --key x', "Unknown option '--key'"],
    ['keys rotate', missingKeyId],
    ['keys revoke', missingKeyId],
    ['keys rotate abc --grace long', '--grace long: must be such as 24h, 30m or 0'],
    ['keys revoke abc def', 'it takes one at a time'],
    ['keys list --url localhost', 'localhost is no URL such as http://127.0.0.1:3000'],
    ['keys list --url ftp://host', 'ftp://host is no URL such as http://127.0.0.1:3000'],
    ['keys list --url http://me@host', 'http://me@host is no URL such as http://127.0.0.1:3000'],
  ];
  it.each(misunderstood)('%s: %s', async (args, problem) => {
    const { code, stdout, stderr } = await signpost(args.split(' ').filter(Boolean), KEY);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain('Usage: signpost ');
    expect(stderr.trimEnd().split('\n').at(-1)).toBe(`signpost: ${problem}`);
  });

  const token = `signpost_${'a'.repeat(12)}_${'b'.repeat(38)}`;
  it.each([token, token.slice(0, 40), `${token.slice(9)}`, 'a/b', ''])(
    'does not take %j for the id of a key, nor repeats it',
    async (argument) => {
      for (const command of ['rotate', 'revoke']) {
        const { code, stdout, stderr } = await signpost(['keys', command, argument], KEY);
        expect([code, stdout]).toEqual([2, '']);
        expect(stderr).toContain(
          'give the id of a key: the part after signpost_, up to the next _',
        );
        expect(stderr).not.toContain('bbb');
      }
    },
  );

  it.each([
    [{}, 'SIGNPOST_API_KEY (or API_KEY) is needed'],
    [{ SIGNPOST_API_KEY: '', API_KEY: '' }, 'SIGNPOST_API_KEY (or API_KEY) is needed'],
    [{ SIGNPOST_API_KEY: 'Schlüssel' }, 'SIGNPOST_API_KEY (or API_KEY) holds no key'],
    [{ API_KEY: 'two\nlines' }, 'SIGNPOST_API_KEY (or API_KEY) holds no key'],
  ])('with %j says that it needs a key', async (env, problem) => {
    const { code, stderr } = await signpost(['keys', 'list'], env);
    expect(code).toBe(2);
    expect(stderr).toContain(`signpost: ${problem}\n`);
  });
});
