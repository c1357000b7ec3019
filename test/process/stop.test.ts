/** An operator, an orchestrator or Ctrl-C ends the process, and it ends well. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { closeAfterEach } from '../support/closings.ts';
import { launchProcess, startProcess } from '../support/process.ts';
import { quickestOf } from '../support/quickest.ts';
import { freePort } from '../support/servers.ts';
import { anyPorts, storageOf } from './support.ts';

const ENDS_WITHIN_MS = 10_000; // what `docker stop` waits before it kills
const closings = closeAfterEach();

describe('a running process', () => {
  const rows: readonly [sent: string, signals: readonly NodeJS.Signals[]][] = [
    ['SIGTERM', ['SIGTERM']],
    ['SIGINT, and of more signals while it stops', ['SIGINT', 'SIGTERM', 'SIGINT']],
  ];
  it.each(rows)(
    'ends with 0 within 10 s of %s',
    async (_sent, signals) => {
      expect(await quickestOf(ENDS_WITHIN_MS, () => stop(signals))).toBeLessThan(ENDS_WITHIN_MS);
    },
    240_000,
  );

  /** Gives how long it took from the first signal on. */
  async function stop([first = 'SIGTERM', ...more]: readonly NodeJS.Signals[]): Promise<number> {
    const fresh = await storageOf();
    closings.push(fresh.close);
    const started = await startProcess({ ...anyPorts, ...fresh.env });
    closings.push(started.kill);
    const begun = performance.now();
    started.signal(first);
    await started.printed('stopping');
    for (const signal of more) started.signal(signal);
    expect(await started.ended).toBe(0);
    const tookMs = performance.now() - begun;
    expect(started.stderr().match(/"stopping"/g)).toHaveLength(1);
    expect(started.stderr()).not.toContain('could not stop cleanly');
    return tookMs;
  }
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

  it('waits for one that takes connections and says nothing, too', async () => {
    const mute = createServer();
    closings.push(async () => void mute.close());
    mute.listen(0, '127.0.0.1');
    await once(mute, 'listening');
    const { port } = mute.address() as AddressInfo; // it listens on TCP
    const waiting = launchProcess({
      ...anyPorts,
      DATABASE_URL: `postgres://127.0.0.1:${port}/signpost`,
      KEY_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    });
    closings.push(waiting.kill);
    await waiting.printed('does not answer yet');
    waiting.signal('SIGTERM');
    expect(await waiting.ended).toBe(0);
  });
});
