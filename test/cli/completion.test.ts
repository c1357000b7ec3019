import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, test } from 'vitest';
import { projectVersion } from '../../src/config/root-folder.ts';
import { spawnSignpost } from './cli.ts';

async function offered(...words: readonly string[]): Promise<readonly string[]> {
  const { code, stdout } = await spawnSignpost(['complete', '--', ...words]);
  expect(code).toBe(0);
  // Each with its description after a tab; the last line is for the shell's function.
  return stdout
    .trimEnd()
    .split('\n')
    .slice(0, -1)
    .map((line) => line.split('\t')[0] ?? '');
}

it('Shell completion offers commands, options and values', async () => {
  expect(await offered('do')).toEqual(['doctor', 'domains']);
  expect(await offered('keys', 'r')).toEqual(['rotate', 'revoke']);
  expect(await offered('domains', 'verify', '--w')).toEqual(['--wait']);
  expect(await offered('domains', 'list', '--status', 'd')).toEqual(['drifted']);
  expect(await offered('keys', 'create', '--scope', 'pets')).toEqual(['pets:read', 'pets:write']);
});

/** Whether this machine has the shell to parse the script. */
function isHere(shell: string): boolean {
  return spawnSync(shell, ['-c', 'true']).status === 0;
}

test.each(['bash', 'zsh', 'fish'])('%s parses its completion script', async (shell) => {
  const { code, stdout, stderr } = await spawnSignpost(['completion', shell]);
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(/signpost\.mjs' complete --/);
  if (!isHere(shell)) return;
  const { status, stderr: complaint } = spawnSync(shell, ['-n'], { input: stdout });
  expect([status, String(complaint)]).toEqual([0, '']);
});

test.each(['bash', 'zsh', 'fish'])(
  '%s can source it twice, and then runs signpost from any folder',
  async (shell) => {
    if (!isHere(shell)) return;
    const { stdout } = await spawnSignpost(['completion', shell]);
    const folder = await mkdtemp(join(tmpdir(), 'completion '));
    const file = join(folder, 'script');
    // `compdef` of zsh is part of its completion system, which a script does not load.
    await writeFile(file, shell === 'zsh' ? `compdef() { :; }\n${stdout}` : stdout);
    const lines = `source '${file}'; source '${file}'; signpost --version`;
    const ran = spawnSync(shell, ['-c', lines], { cwd: folder });
    await rm(folder, { recursive: true });
    expect([String(ran.stderr), String(ran.stdout).trim()]).toEqual(['', projectVersion()]);
  },
);

test('Shell completion rejects an unknown shell', async () => {
  const { code, stderr } = await spawnSignpost(['completion', 'csh']);
  expect(code).toBe(2);
  expect(stderr).toContain('Allowed choices are zsh, bash, fish, powershell');
});
