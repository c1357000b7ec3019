import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { closeAfterEach } from '../support/closings.ts';
import { startProcess } from '../support/process.ts';
import { lacks } from '../support/programs.ts';
import { startPostgres, startRedis } from '../support/servers.ts';
import { anyPorts } from './support.ts';

const without = lacks('postgres', 'a stop without Redis') || lacks('redis-server', 'it');
const closings = closeAfterEach();

describe.skipIf(without)('A process whose Redis is dead', () => {
  it.each(['worker', 'api', 'all'])('with the role %s stops at SIGTERM', async (ROLE) => {
    const [postgres, redis] = await Promise.all([startPostgres(), startRedis()]);
    closings.push(postgres.close, redis.close);
    const started = await startProcess({
      ...anyPorts,
      METRICS_PORT: '0',
      ROLE,
      DATABASE_URL: postgres.url,
      ACME_DIRECTORY_URL: 'local',
      REDIS_URL: redis.url,
      KEY_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
    });
    closings.push(started.kill);
    await redis.kill();
    expect(await started.stop()).toBe(0);
  });
});
