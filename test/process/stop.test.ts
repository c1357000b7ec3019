import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { closeAfterEach } from '../support/closings.ts';
import { launchProcess, startProcess } from '../support/process.ts';
import { rowsOfRun } from '../support/run.ts';
import { freePort } from '../support/servers.ts';
import { anyPorts, storageOf } from './support.ts';

const closings = closeAfterEach();

describe('A running process', () => {
  const rows: readonly [sent: string, signals: readonly NodeJS.Signals[]][] = [
    ['SIGTERM', ['SIGTERM']],
    ['SIGINT, and of more signals while it stops', ['SIGINT', 'SIGTERM', 'SIGINT']],
  ];
  // test/flow/graceful-stop.test.ts covers SIGTERM for single roles.
  it.each(rowsOfRun(rows, ([, signals]) => signals.length > 1))(
    'exits with 0 at %s',
    async (_sent, signals) => stop(signals),
    240_000,
  );

  async function stop([first = 'SIGTERM', ...more]: readonly NodeJS.Signals[]): Promise<void> {
    const fresh = await storageOf();
    closings.push(fresh.close);
    const started = await startProcess({ ...anyPorts, ...fresh.env });
    closings.push(started.kill);
    started.signal(first);
    await started.printed('stopping');
    for (const signal of more) started.signal(signal);
    expect(await started.ended).toBe(0);
    expect(started.stderr().match(/"stopping"/g)).toHaveLength(1);
    expect(started.stderr()).not.toContain('could not stop cleanly');
  }
});

describe('A process that waits for its database', () => {
  const signals = ['SIGTERM', 'SIGINT'] as const;
  it.each(rowsOfRun(signals, (one) => one === 'SIGINT'))('exits with 0 at %s', async (signal) => {
    const waiting = launchProcess({
      ...anyPorts,
      DATABASE_URL: `postgres://127.0.0.1:${await freePort()}/signpost`,
      ACME_DIRECTORY_URL: 'local',
      KEY_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    });
    closings.push(waiting.kill);
    await waiting.printed('a dependency does not answer');
    waiting.signal(signal);
    expect(await waiting.ended).toBe(0);
  });

  it('also waits for a server that accepts connections and stays silent', async () => {
    const mute = createServer();
    closings.push(async () => void mute.close());
    mute.listen(0, '127.0.0.1');
    await once(mute, 'listening');
    const { port } = mute.address() as AddressInfo;
    const waiting = launchProcess({
      ...anyPorts,
      DATABASE_URL: `postgres://127.0.0.1:${port}/signpost`,
      ACME_DIRECTORY_URL: 'local',
      KEY_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    });
    closings.push(waiting.kill);
    await waiting.printed('a dependency does not answer');
    waiting.signal('SIGTERM');
    expect(await waiting.ended).toBe(0);
  });
});
