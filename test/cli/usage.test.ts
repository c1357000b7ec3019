import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { signpost } from './cli.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const KEY = { SIGNPOST_API_KEY: 'a key of an operator' };

describe('signpost', () => {
  it.each([['help'], ['--help'], ['-h']])('%s lists the commands', async (word) => {
    const { code, stdout, stderr } = await signpost([word]);
    expect([code, stderr]).toEqual([0, '']);
    for (const name of [
      'accounts',
      'demo',
      'doctor',
      'domains',
      'fleet',
      'keys',
      'rotate-keys',
      'zone',
      'ca',
      'completion',
    ])
      expect(stdout).toMatch(`\n  ${name} `);
  });

  it.each([
    ['keys', 'help'],
    ['keys', '--help'],
    ['help', 'keys'],
  ])('%s %s lists the commands for keys', async (...args) => {
    const { code, stdout, stderr } = await signpost(args);
    expect([code, stderr]).toEqual([0, '']);
    for (const name of ['list', 'create', 'rotate', 'revoke'])
      expect(stdout).toMatch(`\n  ${name} `);
  });

  it.each([
    [['doctor', 'help'], 'signpost help doctor'],
    [['domains', 'show', 'help'], 'signpost domains help show'],
  ])('suggests the intended command for %j, which is not a host name', async (args, meant) => {
    const { code, stdout, stderr } = await signpost(args, KEY);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toMatch(new RegExp(`signpost: did you mean \`${meant}\`\\?\\n$`));
  });

  const options: readonly (readonly [command: string, names: readonly string[]])[] = [
    ['demo', ['--keep']],
    ['doctor', ['--target', '--reach', '--url', '--json']],
    ['domains list', ['--status', '--project', '--url', '--json']],
    ['domains show', ['--project', '--url', '--json']],
    ['domains verify', ['--project', '--url', '--json', '--wait', '--timeout']],
    ['domains add', ['--project', '--url', '--json', '--upstream']],
    ['domains remove', ['--project', '--url', '--json', '--orphans']],
    ['keys list', ['--url', '--json']],
    [
      'keys create',
      ['--name', '--scope', '--account', '--project', '--expires', '--url', '--json'],
    ],
    ['accounts list', ['--url', '--json']],
    ['accounts show', ['--url', '--json']],
    ['accounts create', ['--name', '--limit', '--url', '--json']],
    ['accounts update', ['--name', '--limit', '--url', '--json']],
    ['keys rotate', ['--grace', '--url', '--json']],
    ['keys revoke', ['--url']],
    ['rotate-keys', ['--check']],
    ['ca', ['--url', '--json']],
    ['zone', ['--ttl', '--accounturi', '--validationmethods', '--json']],
  ];
  it.each(options)('%s has its own help with exactly its options', async (command, names) => {
    for (const word of ['--help', '-h']) {
      const { code, stdout, stderr } = await signpost([...command.split(' '), word]);
      expect([code, stderr]).toEqual([0, '']);
      expect(stdout).toMatch(`Usage: signpost ${command} `);
      const listed = [...stdout.matchAll(/^ {2}(?:-h, )?(--[a-z]+)/gm)].map(([, name]) => name);
      expect(listed).toEqual([...names, '--help']);
      expect(stdout.split('\n').filter((line) => line.length > 115)).toEqual([]);
    }
  });

  it.each(['doctor', 'rotate-keys', 'zone'])(
    'help %s prints the same as its --help',
    async (command) => {
      const { code, stdout, stderr } = await signpost(['help', command]);
      expect([code, stderr]).toEqual([0, '']);
      expect(stdout).toBe((await signpost([command, '--help'])).stdout);
    },
  );

  it('--version prints the version of the package', async () => {
    const { version } = JSON.parse(await readFile(`${root}package.json`, 'utf8'));
    expect(await signpost(['--version'])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
  });

  const misunderstood: readonly (readonly [args: string, problem: string])[] = [
    ['', 'which command?'],
    ['key', "unknown command 'key' (Did you mean keys?)"],
    ['domain', "unknown command 'domain' (Did you mean domains?)"],
    ['docter', "unknown command 'docter' (Did you mean doctor?)"],
    ['help docter', 'which command?'],
    ['demo docs.shop.test', "too many arguments for 'demo'. Expected 0 arguments but got 1."],
    ['constructor', "unknown command 'constructor'"],
    ['keys', 'which command?'],
    ['zone edge.example.net', "too many arguments for 'zone'. Expected 0 arguments but got 1."],
    ['keys destroy', "unknown command 'destroy'"],
    ['keys rovoke', "unknown command 'rovoke' (Did you mean revoke?)"],
    ['keys list --color', "unknown option '--color'"],
    ['keys list everything', "too many arguments for 'list'. Expected 0 arguments but got 1."],
    ['keys list --jsno', "unknown option '--jsno' (Did you mean --json?)"],
    ['keys create --scope admin', "required option '--name <name>' not specified"],
    ['keys create --name shop', "required option '--scope <scope>' not specified"],
    ['keys create --name', "option '--name <name>' argument missing"],
    [
      'keys create --name a --scope admin --expires soon',
      '--expires soon: use a duration such as 90d or a time such as 2027-01-01T00:00:00Z',
    ],
    ['keys create --name a --scope admin --key x', "unknown option '--key'"],
    ['keys rotate', "missing required argument 'id'"],
    ['keys revoke', "missing required argument 'id'"],
    ['keys rotate abc --grace long', '--grace long: use a duration such as 24h or 30m, or 0'],
    ['keys revoke abc def', "too many arguments for 'revoke'. Expected 1 argument but got 2."],
    ['keys list --url localhost', 'localhost is not a valid URL. Example: http://127.0.0.1:3000'],
    ['keys list --url ftp://host', 'ftp://host is not a valid URL. Example: http://127.0.0.1:3000'],
    [
      'keys list --url http://me@host',
      'http://me@host is not a valid URL. Example: http://127.0.0.1:3000',
    ],
  ];
  it.each(misunderstood)('%s: %s', async (args, problem) => {
    const { code, stdout, stderr } = await signpost(args.split(' ').filter(Boolean), KEY);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain('Usage: signpost ');
    expect(stderr.trimEnd().split('\n').at(-1)).toBe(`signpost: ${problem}`);
  });

  const token = `signpost_${'a'.repeat(12)}_${'b'.repeat(38)}`;
  it.each([token, token.slice(0, 40), `${token.slice(9)}`, 'a/b', ''])(
    'rejects %j as the id of a key and does not repeat it',
    async (argument) => {
      for (const command of ['rotate', 'revoke']) {
        const { code, stdout, stderr } = await signpost(['keys', command, argument], KEY);
        expect([code, stdout]).toEqual([2, '']);
        expect(stderr).toContain(
          'pass the ID of a key: the part after signpost_, up to the next _',
        );
        expect(stderr).not.toContain('bbb');
      }
    },
  );

  it.each([
    [{}, 'SIGNPOST_API_KEY (or API_KEY) is required'],
    [{ SIGNPOST_API_KEY: '', API_KEY: '' }, 'SIGNPOST_API_KEY (or API_KEY) is required'],
    [
      { SIGNPOST_API_KEY: 'Schlüssel' },
      'SIGNPOST_API_KEY (or API_KEY) does not contain a valid key',
    ],
    [{ API_KEY: 'two\nlines' }, 'SIGNPOST_API_KEY (or API_KEY) does not contain a valid key'],
  ])('with %j says that it needs a key', async (env, problem) => {
    const { code, stderr } = await signpost(['keys', 'list'], env);
    expect(code).toBe(2);
    expect(stderr).toContain(`signpost: ${problem}\n`);
  });
});
