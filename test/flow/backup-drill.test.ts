/** Runs the commands of docs/run/backup.md: the database is dropped and restored, and Redis emptied. */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/config.ts';
import { startSignpost } from '../../src/start.ts';
import { createClient } from '../support/client.ts';
import { closeAfterEach } from '../support/closings.ts';
import { lacks } from '../support/programs.ts';
import { freshStorage } from '../support/storage.ts';
import { startWorld, until, visitDomain } from '../support/world.ts';

const run = promisify(execFile);
const closings = closeAfterEach();
const without = ['postgres', 'redis-server', 'pg_dump', 'redis-cli'] as const;
const isWithout = without.map((name) => lacks(name, 'the backup drill')).includes(true);

const page = readFileSync(new URL('../../docs/run/backup.md', import.meta.url), 'utf8');
const commands = (program: string) =>
  [...page.matchAll(/^ {4,}(\w.*)$/gm)].flatMap(([, line = '']) =>
    line.startsWith(`${program} `) ? line : [],
  );

async function start(env: Readonly<Record<string, string>>) {
  const result = loadConfig(env);
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  const signpost = await startSignpost(result.config, pino({ level: 'silent' }));
  closings.push(() => signpost.close(20_000));
  return signpost;
}

/** The page's commands for this world; each is run by a shell. */
async function drillOf(env: Readonly<Record<string, string>>) {
  const folder = await mkdtemp(join(tmpdir(), 'signpost-backup-'));
  closings.push(() => rm(folder, { recursive: true }));
  const url = new URL(env['DATABASE_URL'] ?? '');
  const DATABASE = url.pathname.slice(1);
  url.pathname = '/postgres';
  const given = { ...process.env, ...env, BACKUP: join(folder, 'backup'), DATABASE };
  const act = async (program: string) => {
    const [command = '', ...others] = commands(program);
    expect(others).toEqual([]);
    await run('sh', ['-c', command], { env: { ...given, SERVER_URL: url.href } });
  };
  return {
    backUp: () => act('pg_dump'),
    async restore() {
      await act('psql');
      await act('pg_restore');
      await act('redis-cli');
    },
  };
}

describe.skipIf(isWithout)('After the restore of a backup', () => {
  it('domains are served with their certificates, and the others go on', async () => {
    const { storage, close } = await freshStorage('postgres_redis');
    closings.push(close);
    const world = await startWorld({ storage, ca: 'local authority' });
    closings.push(world.close);
    const { backUp, restore } = await drillOf(world.env);
    const waiting = createClient({ ...world, hostname: `later.${world.zone}` });
    const served = createClient(world);

    const first = await start(world.env);
    const { record } = await served.addDomain();
    const later = await waiting.addDomain();
    await world.publish([`docs CNAME ${record.value}.`]);
    await until('it is live', async () => (await served.domain()).status === 'live');
    const roots = await world.rootCertificates(first.service.rootCertificate);
    await backUp();
    await served.call('DELETE', served.domainPath);
    await first.close(20_000);
    await restore();

    const otherKey = { ...world.env, KEY_ENCRYPTION_KEY: randomBytes(32).toString('base64') };
    await expect(start(otherKey)).rejects.toThrow('no key in KEY_ENCRYPTION_KEY opens');

    const second = await start(world.env);
    expect((await visitDomain(world, roots)).status).toBe(200);
    expect((await served.domain()).status).toBe('live');
    expect(await second.service.database.prisma.certificate.count()).toBe(1);
    await world.publish([`docs CNAME ${record.value}.`, `later CNAME ${later.record.value}.`]);
    await until('the other is live', async () => (await waiting.domain()).status === 'live');
  }, 300_000);
});
