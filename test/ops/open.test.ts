import { expect, it } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { openOps } from '../../src/process/ops.ts';

const token = { METRICS_TOKEN: 'a-token-of-sixteen' };

it.each([
  ['0.0.0.0', {}, 1],
  ['::', {}, 1],
  ['0.0.0.0', token, 0],
  ['127.0.0.1', {}, 0],
  ['127.0.0.2', {}, 0],
  ['localhost', {}, 0],
])('METRICS_PORT on %s with %j logs %i warnings', async (HOST, more, times) => {
  const loaded = loadConfig({ HOST, METRICS_PORT: '0', ...more });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  const warned: unknown[] = [];
  const ops = await openOps(loaded.config, {
    warn: (...line: unknown[]) => void warned.push(line),
    info: () => undefined,
  });
  await ops.close(1_000);
  expect(warned).toHaveLength(times);
  expect(warned.every((line) => JSON.stringify(line).includes('METRICS_TOKEN'))).toBe(true);
});
