/** Benches run seldom, so a changed configuration or schema would stop one of their processes unnoticed. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { workerEnvironment } from '../../bench/checks/settings.ts';
import { loadConfig } from '../../src/config/config.ts';
import { lacks } from '../support/programs.ts';
import { isLongRun } from '../support/run.ts';

const cwd = fileURLToPath(new URL('../../', import.meta.url));
const TIMEOUT_MS = 300_000;
const subject = 'the bench of checks per second';

describe('The bench of checks per second', () => {
  it('starts the worker with a valid configuration', () => {
    const environment = workerEnvironment({
      databaseUrl: 'postgresql://postgres@127.0.0.1:5432/postgres',
      redisUrl: 'redis://127.0.0.1:6379',
      dnsPort: '5300',
    });
    expect(loadConfig(environment)).toMatchObject({ ok: true });
  });

  if (isLongRun) {
    const isLacking = [lacks('redis-server', subject), lacks('initdb', subject)].includes(true);
    it.skipIf(isLacking)('measures all three contenders', { timeout: TIMEOUT_MS }, async () => {
      const args = ['run', '--silent', 'bench:checks', '--', 'rate'];
      const env = { ...process.env, ROUNDS: '1', SECONDS: '1', WARM_UP: '0' };
      const options = { cwd, env, timeout: TIMEOUT_MS - 10_000 };
      const { stdout } = await promisify(execFile)('npm', args, options);
      for (const contender of ['no-op', 'textbook', 'signpost']) {
        const row = String.raw`^\| ${contender} \| [1-9]\d*/s \| [1-9]\d* \|`;
        expect(stdout).toMatch(new RegExp(row, 'm'));
      }
    });
  }
});
