/** An operator, an orchestrator or Ctrl-C ends the process, and it ends well. */
import { randomBytes } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { launchProcess, startProcess } from '../support/process.ts';
import { freePort } from '../support/servers.ts';
import { anyPorts, quickStorage } from './support.ts';

const ENDS_WITHIN_MS = 10_000; // what `docker stop` waits before it kills
const closings: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closings.splice(0).reverse()) await close();
});

describe('a running process', () => {
  const rows: readonly [sent: string, signals: readonly NodeJS.Signals[]][] = [
    ['SIGTERM', ['SIGTERM']],
    ['SIGINT, and of more signals while it stops', ['SIGINT', 'SIGTERM', 'SIGINT']],
  ];
  it.each(rows)(
    'ends with 0 within 10 s of %s',
    async (_sent, signals) => {
      const fresh = await quickStorage();
      closings.push(fresh.close);
      const started = await startProcess({ ...anyPorts, ...fresh.env });
      closings.push(started.kill);
      const begun = performance.now();
      const [first = 'SIGTERM', ...more] = signals;
      started.signal(first);
      await started.printed('stopping');
      for (const signal of more) started.signal(signal);
      expect(await started.ended).toBe(0);
      expect(performance.now() - begun).toBeLessThan(ENDS_WITHIN_MS);
      expect(started.stderr().match(/"stopping"/g)).toHaveLength(1);
      expect(started.stderr()).not.toContain('could not stop cleanly');
    },
    60_000,
  );
});

describe('a process that still waits for its database', () => {
  const signals = ['SIGTERM', 'SIGINT'] as const;
  it.each(signals)('ends with 0 at %s', async (signal) => {
    const waiting = launchProcess({
      ...anyPorts,
      DATABASE_URL: `postgres://127.0.0.1:${await freePort()}/signpost`,
      KEY_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    });
    closings.push(waiting.kill);
    await waiting.printed('does not answer yet');
    waiting.signal(signal);
    expect(await waiting.ended).toBe(0);
  });
});
