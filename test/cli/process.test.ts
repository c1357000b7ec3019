/** The command line as a process of its own: what is compiled, and what a terminal does to it. */
import { expect, it } from 'vitest';
import { spawnSignpost } from './cli.ts';

it.each(['demo', 'doctor', 'domains', 'keys', 'rotate-keys', 'zone'])(
  '%s is loaded from where it was compiled to',
  async (command) => {
    const { code, stdout, stderr } = await spawnSignpost([command, '--help']);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(`Usage: signpost ${command}`);
  },
);
