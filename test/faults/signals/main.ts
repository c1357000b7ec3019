/**
 * `npm run test:signals`: what an operator sees of a fault, and after how long, with the waits of
 * production. REPORT=docs/measured/reliability.md writes the table into the page.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Role } from '../../../src/core/operations/roles.ts';
import { launchProcess } from '../../support/process.ts';
import { freePort, startRedis } from '../../support/servers.ts';
import { createEndings } from '../endings.ts';
import { type Client, createClient } from '../load/client.ts';
import { createLedger } from '../load/ledger.ts';
import { isReadyAt } from '../system/balancer.ts';
import { type Place, projectRoot } from '../system/roles.ts';
import { type System, startSystem } from '../system/system.ts';
import { until } from '../system/wait.ts';
import { SECTION, sectionOf, withSection } from './section.ts';

/* Faults, and how the first signal of each is recognized. */

export type SignalWorld = { readonly system: System; readonly client: Client };

export type Situation = {
  readonly name: string;
  /** The task of `/ops`, as `readSignals` names it; empty if `/ops` cannot answer. */
  readonly row: string;
  readonly alert: string;
  /** Returns how to take it back. */
  bring(world: SignalWorld): Promise<() => Promise<void>>;
  /** The output of the process that it starts, if any. */
  output?(): string;
};

/** In the order in which people see them: log, probe, page. */
export async function readSignals(
  { system, client }: SignalWorld,
  situation?: Situation,
): Promise<ReadonlySet<string>> {
  const seen = new Set<string>();
  if (situation?.output?.().includes('Signpost cannot start')) seen.add('it ends, and says why');
  const running = system.places.filter(({ pid }) => pid !== undefined);
  const isReady = await Promise.all(running.map(({ ports }) => isReadyAt(ports.metrics)));
  for (const [index, place] of running.entries()) {
    if (!isReady[index]) seen.add(`\`/readyz\` of \`${place.role}\` fails`);
  }
  const { body } = await client.call('GET', '/v1/operations/overview');
  const { attention = [] } = body as { attention?: readonly { readonly code: string }[] };
  for (const { code } of attention) seen.add(rowOf(code));
  return seen;
}

const rowOf = (code: string) => `\`/ops\`: \`${code}\``;

function killed(role: Role, code: string, alert: string): Situation {
  return {
    name: `every \`${role}\` killed`,
    row: rowOf(code),
    alert,
    async bring({ system }) {
      const places = system.placesOf(role);
      for (const place of places) await place.kill();
      return async () => {
        for (const place of places) await place.start();
      };
    },
  };
}

type Env = Readonly<Record<string, string>>;

/** Another worker, with these variables. */
function refused(name: string, change: (env: Env) => Promise<Env>): Situation {
  let output = () => '';
  return {
    name,
    row: rowOf('process_refused'),
    alert: 'SignpostProcessRefused',
    output: () => output(),
    async bring({ system }) {
      const worker = launchProcess({ ...(await change(system.env)), ROLE: 'worker' }, projectRoot);
      output = worker.output;
      return async () => {
        await worker.kill();
        output = () => '';
        // Its record stays for a quarter of an hour; the next situation needs a clear page.
        await system.sql('DELETE FROM fleet_process WHERE is_refused');
      };
    },
  };
}

const without = (env: Env, variable: string): Env =>
  Object.fromEntries(Object.entries(env).filter(([name]) => name !== variable));

const DOMAINS = 12;

/** The domains are checked every 15 s at first, so that each worker checks some. */
async function withoutResolver({ system, client }: SignalWorld): Promise<() => Promise<void>> {
  const [place] = system.placesOf('worker');
  await replaceWith(place, { DNS_SERVERS: `127.0.0.1:${await freePort()}` });
  const label = `signals-${Date.now()}`;
  const projectId = await client.createProject(label, 'http://127.0.0.1:9/');
  const names = Array.from({ length: DOMAINS }, (_, nth) => `${label}-${nth}.one.test`);
  for (const name of names) await client.addDomain(projectId ?? '', name);
  return async () => {
    await replaceWith(place, {});
    for (const name of names) await client.removeDomain(name);
  };
}

async function replaceWith(place: Place | undefined, env: Env): Promise<void> {
  await place?.stop();
  await place?.start(env);
}

export const situations: readonly Situation[] = [
  refused('a `worker` with the local CA', async (env) => ({
    ...without(env, 'ACME_CA_FILE'),
    ACME_DIRECTORY_URL: 'local',
  })),
  refused('a `worker` without `REDIS_URL`', async (env) => without(env, 'REDIS_URL')),
  refused('a `worker` with another Redis', async (env) => {
    const { url } = await startRedis();
    return { ...env, REDIS_URL: url };
  }),
  {
    name: 'Redis killed',
    row: rowOf('queue_away'),
    alert: 'SignpostNotReady',
    async bring({ system }) {
      await system.redis.kill();
      return () => system.redis.restart();
    },
  },
  {
    name: 'PostgreSQL stopped',
    row: '',
    alert: 'SignpostNotReady',
    async bring({ system }) {
      await system.postgres.stop();
      return () => system.postgres.restart();
    },
  },
  {
    name: 'one of three `worker`s without a resolver',
    row: rowOf('resolvers_silent'),
    alert: 'SignpostChecksUnknown',
    bring: withoutResolver,
  },
  killed('worker', 'no_worker', 'SignpostNoProcess'),
  killed('edge', 'role_missing', 'SignpostNoProcess'),
];

const print = (line: string) => void process.stdout.write(`${line}\n`);
const endings = createEndings(print);
const folder = mkdtempSync(join(tmpdir(), 'signpost-signals-'));
const SEEN_MS = 240_000;
const CALM_MS = 120_000;

const code = await main().catch((fault: unknown) => {
  process.stderr.write(`${fault instanceof Error ? fault.stack : fault}\n`);
  return 1;
});
await endings.run();
rmSync(folder, { recursive: true, force: true });
process.exit(code);

async function main(): Promise<number> {
  const system = await startSystem(folder, endings, { timeScale: '1' });
  const world: SignalWorld = { system, client: createClient(system, createLedger()) };
  const rows: string[] = [];
  for (const situation of situations) {
    const row = await measure(world, situation);
    print(row);
    rows.push(row);
  }
  const table = [
    '| situation | first signal | after | `/ops` says so after | alert |',
    '|---|---|---|---|---|',
    ...rows,
  ];
  const path = process.env['REPORT'];
  if (path && existsSync(path)) {
    writeFileSync(path, withSection(readFileSync(path, 'utf8'), sectionOf(table)));
    print(`wrote ${SECTION} into ${path}`);
  }
  return 0;
}

/** Injects it, waits for the row of `/ops`, takes it back and waits until all is clear. */
async function measure(world: SignalWorld, situation: Situation): Promise<string> {
  await until('all is clear', async () => (await readSignals(world)).size === 0, CALM_MS);
  const takeBack = await situation.bring(world);
  const began = performance.now();
  const seconds = () => `${((performance.now() - began) / 1_000).toFixed(0)} s`;
  let first: string | null = null;
  let row: string | null = null;
  const isSeen = async () => {
    const seen = await readSignals(world, situation);
    const [signal] = seen;
    if (signal !== undefined) first ??= `${signal} | ${seconds()}`;
    if (seen.has(situation.row)) row ??= seconds();
    // While the API cannot answer, /ops shows nothing.
    return row !== null || (situation.row === '' && first !== null);
  };
  await until(`a signal of: ${situation.name}`, isSeen, SEEN_MS);
  await takeBack();
  return `| ${situation.name} | ${first} | ${row ?? '–'} | \`${situation.alert}\` |`;
}
