import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openLogDestination } from '../../src/ops/log-destination.ts';
import { closeAfterEach } from '../support/closings.ts';
import { until } from '../support/world.ts';

const closings = closeAfterEach();

function openFile() {
  const folder = mkdtempSync(join(tmpdir(), 'signpost-log-'));
  const file = join(folder, 'log');
  writeFileSync(file, '');
  const fd = openSync(file, 'a');
  closings.push(async () => {
    closeSync(fd);
    rmSync(folder, { recursive: true });
  });
  return { fd, read: () => readFileSync(file, 'utf8') };
}

const linesOf = (count: number) => Array.from({ length: count }, (_, nth) => `{"nth":${nth}}\n`);

it('Lines are written in their order, in large parts or within a second', async () => {
  const { fd, read } = openFile();
  const log = openLogDestination(fd);
  const lines = linesOf(20_000);
  for (const line of lines) log.write(line);
  await until('all lines', async () => read() === lines.join(''));
});

it('Lines that are buffered at the exit are written', () => {
  const { fd, read } = openFile();
  const log = openLogDestination(fd);
  for (const line of linesOf(3)) log.write(line);
  expect(read()).toBe('');
  log.flushSync();
  expect(read()).toBe(linesOf(3).join(''));
});

it('Lines for a reader that does not read are dropped beyond 8 MB, and counted', async () => {
  const { fd, read } = openFile();
  const log = openLogDestination(fd);
  const line = `${'x'.repeat(999)}\n`;
  for (let nth = 0; nth < 9_000; nth += 1) log.write(line); // in one turn: nothing is written yet
  await until('the rest', async () => read().includes('log lines dropped'));
  const written = read().split('\n');
  const { dropped } = JSON.parse(written.find((one) => one.startsWith('{')) ?? '{}');
  const kept = written.filter((one) => one.startsWith('x')).length;
  expect([kept + dropped, dropped > 0]).toEqual([9_000, true]);
});

it('A destination that cannot be written to stays silent', async () => {
  const fd = openSync('/dev/full', 'w');
  const log = openLogDestination(fd);
  for (const line of linesOf(5_000)) log.write(line);
  log.flushSync();
  await new Promise(setImmediate);
  log.write('later\n');
  log.flushSync();
  closeSync(fd);
});
