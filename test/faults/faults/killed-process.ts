import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Role } from '../../../src/core/operations/roles.ts';
import { launchProcess } from '../../support/process.ts';
import { freePort } from '../../support/servers.ts';
import type { Fault, World } from '../fault.ts';
import type { Random } from '../random.ts';
import { ask } from '../system/ask.ts';
import { type Place, projectRoot } from '../system/roles.ts';
import { sleep, until } from '../system/wait.ts';

const DOWN_MS = 1_000;

/** Like an orchestrator: notices the exit and starts a replacement. */
async function killOnce(place: Place): Promise<void> {
  await place.kill();
  await sleep(DOWN_MS);
  await place.start();
}

async function killOneOf({ system, random }: World, role: Role): Promise<void> {
  await killOnce(random.pick(system.placesOf(role)));
}

export const killedApi: Fault = {
  name: 'killed-api',
  what: 'SIGKILL for the only `api`, which restarts after a second',
  pass: 'every acknowledged write is there, visitors are not affected',
  seconds: 8,
  parts: ['api'],
  tolerance: { api: 'any', visitors: 'none' },
  recoverySeconds: 10,
  async inject(world) {
    await killOneOf(world, 'api');
    return {};
  },
};

export const killedWorkers: Fault = {
  name: 'killed-workers',
  what: 'SIGKILL for one `worker` after the other, three times',
  pass: 'jobs run again within 20 s, effects once',
  seconds: 25,
  parts: ['worker'],
  tolerance: { api: 'none', visitors: 'none' },
  recoverySeconds: 20,
  mayLoseOrders: true,
  async inject({ system }) {
    for (const place of system.placesOf('worker')) await killOnce(place);
    return {};
  },
};

/** Requests under way fail; the balancer sends the next ones to the other edge. */
export const killedEdge: Fault = {
  name: 'killed-edge',
  what: 'SIGKILL for one of two `edge`s, which restarts after a second',
  pass: 'only running requests fail',
  seconds: 8,
  parts: ['edge'],
  tolerance: { api: 'none', visitors: 'any' },
  recoverySeconds: 10,
  async inject(world) {
    const { ledger } = world;
    const before = ledger.failures.length;
    await killOneOf(world, 'edge');
    const failed = ledger.failures.slice(before).filter(({ who }) => who === 'visitor');
    const UNDER_WAY = 2; // visitors arrive one at a time
    const wrong = failed.length > UNDER_WAY ? failed.map(({ what }) => what) : [];
    return { wrong };
  },
};

const KILLS = 20;
const run = promisify(execFile);

export const embeddedKilled: Fault = {
  name: 'embedded-killed',
  what: `a separate service on embedded storage, killed ${KILLS} times while it writes`,
  pass: 'it opens every time, no acknowledged write is lost',
  seconds: 240,
  parts: ['alone'],
  tolerance: { api: 'none', visitors: 'none' },
  recoverySeconds: 10,
  async inject({ folder, random }) {
    const dataDir = await mkdtemp(join(folder, 'embedded-'));
    try {
      const pets = new Map<number, string>();
      for (let round = 0; round < KILLS; round += 1) await writeAndKill(dataDir, pets, random);
      const lost = await lostIn(dataDir, pets);
      return { seen: [`${pets.size} writes acknowledged, ${lost.length} lost`], wrong: lost };
    } finally {
      await run('rm', ['-rf', dataDir]);
    }
  },
};

const apiKey = `faults-${randomBytes(16).toString('hex')}`;
const headers = { authorization: `Bearer ${apiKey}` };

async function start(dataDir: string) {
  const port = String(await freePort());
  const service = launchProcess(
    {
      DATA_DIR: dataDir,
      API_KEY: apiKey,
      PORT: port,
      EDGE_HTTP_PORT: String(await freePort()),
      EDGE_HTTPS_PORT: String(await freePort()),
      RATE_LIMIT_PER_KEY: '900000',
      RATE_LIMIT_PER_ADDRESS: '900000',
      LOG_LEVEL: 'warn',
    },
    projectRoot,
  );
  await service.printed('Signpost is ready').catch(async (fault: unknown) => {
    await service.kill();
    throw fault;
  });
  return { service, pets: `http://127.0.0.1:${port}/v1/pets` };
}

/** Several writers, so that the process dies during a write. */
async function writeAndKill(
  dataDir: string,
  acknowledged: Map<number, string>,
  random: Random,
): Promise<void> {
  const { service, pets } = await start(dataDir);
  let isAlive = true;
  const write = async () => {
    while (isAlive) {
      const name = `pet-${random.between(0, 1e9)}`;
      const { status, body } = await ask('POST', pets, { headers, body: { name, categoryId: 1 } });
      if (status === 201) acknowledged.set((body as { id: number }).id, name);
    }
  };
  const writing = [1, 2, 3, 4].map(write);
  const enough = acknowledged.size + random.between(1, 60);
  await until('writes are acknowledged', async () => acknowledged.size >= enough, 60_000);
  await service.kill();
  isAlive = false;
  await Promise.all(writing);
}

async function lostIn(dataDir: string, acknowledged: Map<number, string>): Promise<string[]> {
  const { service, pets } = await start(dataDir);
  const lost: string[] = [];
  for (const [id, name] of acknowledged) {
    const { status, body } = await ask('GET', `${pets}/${id}`, { headers });
    if (status !== 200 || (body as { name: string }).name !== name)
      lost.push(`pet ${id}: ${status}`);
  }
  await service.stop();
  return lost;
}

function rolling(role: Role, rounds: number, seconds: number): Fault {
  return {
    name: `rolling-${role}`,
    what: `every \`${role}\` replaced by a new one and stopped with SIGTERM, ${rounds} times in a row`,
    pass: '0 failed requests, exit code 0',
    seconds,
    parts: [role],
    tolerance: { api: 'none', visitors: 'none' },
    recoverySeconds: 10,
    async inject({ system }) {
      const wrong: string[] = [];
      for (let round = 0; round < rounds; round += 1) {
        for (const place of system.placesOf(role)) {
          const code = await place.replace();
          if (code !== 0) wrong.push(`${place.name} ended with ${code}`);
        }
      }
      return { wrong };
    },
  };
}

export const rollingApi = rolling('api', 3, 15);
export const rollingWorker = rolling('worker', 1, 20);
export const rollingEdge = rolling('edge', 2, 20);
