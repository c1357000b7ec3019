import { roleNames } from '../../../src/core/operations/roles.ts';
import { launchProcess } from '../../support/process.ts';
import { startRedis } from '../../support/servers.ts';
import type { Fault, World } from '../fault.ts';
import { addNewcomer, statusOfNewcomer } from '../load/newcomer.ts';
import { projectRoot } from '../system/roles.ts';
import { sleep, until } from '../system/wait.ts';

type Env = Readonly<Record<string, string>>;

function without(env: Env, variable: string): Env {
  return Object.fromEntries(Object.entries(env).filter(([name]) => name !== variable));
}

/** Longer than the others' reports, after which a process decides. */
const DECIDED_MS = 30_000;

/** The variable that a further worker with these variables names when it ends. */
async function refusedFor(env: Env): Promise<string> {
  const worker = launchProcess({ ...env, ROLE: 'worker' }, projectRoot);
  const code = await Promise.race([worker.ended, sleep(DECIDED_MS)]);
  if (code !== 1) {
    await worker.kill();
    return `it ended with ${code ?? 'nothing'}`;
  }
  const last = worker.stderr().trimEnd().split('\n').at(-1) ?? '';
  return String(JSON.parse(last).problem).split(' ')[0] ?? '';
}

/** From the local CA, whose certificates have no authority. */
async function unexpectedCertificates({ system }: World): Promise<number> {
  const [row] = await system.sql<{ count: string }>(
    `SELECT count(*) FROM certificate WHERE status = 'issued' AND authority IS NULL`,
  );
  return Number(row?.count);
}

export const mixedConfiguration: Fault = {
  name: 'mixed-configuration',
  what: 'further `worker`s started with the local CA, without `REDIS_URL`, and with another Redis',
  pass: 'each ends and names its variable, no certificate is from another CA, a new domain goes live',
  seconds: 40,
  parts: ['alone'],
  tolerance: { api: 'none', visitors: 'none' },
  recoverySeconds: 10,
  async inject(world) {
    const { env } = world.system;
    const before = await unexpectedCertificates(world);
    const other = await startRedis();
    const hostname = await addNewcomer(world, 'mixed', 'one.test');
    const cases: readonly (readonly [variable: string, Env])[] = [
      ['ACME_DIRECTORY_URL', { ...without(env, 'ACME_CA_FILE'), ACME_DIRECTORY_URL: 'local' }],
      ['REDIS_URL', without(env, 'REDIS_URL')],
      ['REDIS_URL', { ...env, REDIS_URL: other.url }],
    ];
    const wrong: string[] = [];
    for (const [variable, given] of cases) {
      const named = await refusedFor(given);
      if (named !== variable) wrong.push(`${variable}: ${named}`);
    }
    await other.close();
    const isLive = async () => (await statusOfNewcomer(world, hostname)) === 'live';
    await until('the new domain is live', isLive, 60_000);
    const after = await unexpectedCertificates(world);
    if (after !== before) wrong.push(`${after - before} certificates are from another CA`);
    return { wrong, seen: [`${cases.length} refused, and the new domain is live`] };
  },
};

const UNREAD_MS = 10_000;

export const brokenLogPipe: Fault = {
  name: 'broken-log-pipe',
  what: `the reader of one process's log of each role goes away for ${UNREAD_MS / 1_000} s, then SIGTERM`,
  pass: 'the process goes on, and ends with exit code 0',
  seconds: 40,
  parts: ['alone'],
  tolerance: { api: 'any', visitors: 'any' },
  recoverySeconds: 10,
  async inject({ system }) {
    const wrong: string[] = [];
    for (const role of roleNames) {
      const [place] = system.placesOf(role);
      if (place === undefined) continue;
      await place.stop();
      await place.start({ LOG_LEVEL: 'debug' });
      place.stopReading();
      await sleep(UNREAD_MS);
      if (!(await place.isReady())) wrong.push(`${place.name} is not ready`);
      const code = await place.stop();
      if (code !== 0) wrong.push(`${place.name} ended with ${code}`);
      await place.start();
    }
    return { wrong };
  },
};
