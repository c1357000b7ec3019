import { expect, test } from 'vitest';
import { nearest } from '../../src/cli/command.ts';

const names = ['demo', 'doctor', 'domains', 'keys', 'zone', 'help'];

test.each([
  ['domain', 'domains'],
  ['docter', 'doctor'],
  ['DOCTOR', 'doctor'],
  ['odctor', 'doctor'],
  ['key', 'keys'],
  ['hlep', 'help'],
  ['xy', undefined],
  ['', undefined],
  ['constructor', undefined],
  ['a'.repeat(1_000), undefined],
])('whoever types %s means %s', (typed, meant) => {
  expect(nearest(typed, names)).toBe(meant);
});
