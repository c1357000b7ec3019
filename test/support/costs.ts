/**
 * Vitest setup file of `TEST_COSTS=FILE npm test`: records time and CPU time of each test file, with threads and ended
 * children. Linux only: uses /proc.
 */
import { appendFileSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';

/** The kernel's unit of `utime` and `cutime`, 100 a second on every supported Linux (proc(5)). */
const TICK_MS = 10;

type Reading = { readonly wallMs: number; readonly ownMs: number; readonly childrenMs: number };

const file = process.env['TEST_COSTS'];
let begun: Reading;

beforeAll(() => {
  begun = read();
});

afterAll(() => {
  const ended = read();
  const cost = {
    file: relative(process.cwd(), expect.getState().testPath ?? '?'),
    wallMs: Math.round(ended.wallMs - begun.wallMs),
    ownMs: Math.round(ended.ownMs - begun.ownMs),
    childrenMs: Math.round(ended.childrenMs - begun.childrenMs),
    pid: process.pid,
  };
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(cost)}\n`);
});

function read(): Reading {
  const { user, system } = process.cpuUsage();
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]?.split(' ') ?? [];
  const [childrenUser, childrenSystem] = [fields[13], fields[14]].map(Number);
  return {
    wallMs: performance.now(),
    ownMs: (user + system) / 1000,
    childrenMs: ((childrenUser ?? 0) + (childrenSystem ?? 0)) * TICK_MS,
  };
}
