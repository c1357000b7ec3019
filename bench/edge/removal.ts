/**
 * How long a removed domain still answers, seen from outside at two independent edges: visitors on a kept connection,
 * and visitors on new ones. First as in production, then with PostgreSQL's notification lost.
 */
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:https';
import { freePort } from '../../test/support/servers.ts';
import { numberFrom, percentile } from '../support/figures.ts';
import { sleep, stop } from '../support/processes.ts';
import { headers, type Service, startService } from '../support/service.ts';
import type { Sites } from './contest.ts';
import { openMutedLine } from './muted-line.ts';
import type { Servers } from './servers.ts';
import { hostnameOf } from './settings.ts';
import { openSites } from './sites.ts';
import { PROJECT_ID } from './stored.ts';
import { createVisitor, type Visitor } from './visitor.ts';

const REMOVALS = numberFrom('REMOVALS', 20);
const EDGES = 2;
/** Between an answer and the next request of a visitor. */
const ASK_EVERY_MS = 5;
/** After this long without a good answer, visits end, with one last request. */
const QUIET_MS = 1_500;
const GIVE_UP_MS = 30_000;

const cases = ['notified', 'lost'] as const;
type Case = (typeof cases)[number];
const words: Readonly<Record<Case, string>> = {
  notified: 'notifications arrive',
  lost: 'the notification is lost',
};
/** Half as many with a lost notification: each takes seconds. */
const plan: readonly Case[] = [
  ...Array.from({ length: REMOVALS }, () => 'notified' as const),
  ...Array.from({ length: Math.ceil(REMOVALS / 2) }, () => 'lost' as const),
];

/** Milliseconds from the API's answer, and from the commit, to the last good answer; negative: before it. */
type Removal = { readonly afterAnswer: number; readonly afterCommit: number };

export async function removal(servers: Servers): Promise<readonly string[]> {
  const sites = await openSites(servers, plan.length);
  const line = await openMutedLine(servers.databaseUrl);
  const api = await startService(servers, { ROLE: 'api' });
  const edges = await Promise.all(
    Array.from({ length: EDGES }, () => startEdge({ ...servers, databaseUrl: line.url })),
  );
  const removals: Record<Case, Removal[]> = { notified: [], lost: [] };
  try {
    for (const [nth, which] of plan.entries()) {
      await line.untilNotified(EDGES);
      const lose = which === 'lost' ? line.mute : () => {};
      const one = await removeOne(sites, api, edges, hostnameOf(nth), lose);
      removals[which].push(...one);
      process.stderr.write(`${words[which]}: ${one.map((r) => r.afterAnswer).join(' and ')} ms\n`);
      if (which === 'lost') line.heal();
    }
    await refuseRemoved(sites, edges);
  } finally {
    for (const { child } of [api, ...edges]) await stop(child);
    await line.close();
    await sites.close();
  }
  return [
    "| at two edges | removals | after the API's answer: p50 | longest | after the commit: p50 | longest |",
    '|---|---|---|---|---|---|',
    ...cases.map((which) => row(which, removals[which])),
  ];
}

type EdgeService = Service & { readonly port: number };

async function startEdge(backing: Parameters<typeof startService>[0]): Promise<EdgeService> {
  const port = await freePort();
  const env = { ROLE: 'edge', EDGE_HTTPS_PORT: String(port), UPSTREAM_NETWORKS: '127.0.0.0/8' };
  return { ...(await startService(backing, env)), port };
}

async function removeOne(
  { rootFile, servers }: Sites,
  api: Service,
  edges: readonly EdgeService[],
  hostname: string,
  lose: () => void,
): Promise<readonly Removal[]> {
  const roots = readFileSync(rootFile, 'utf8');
  const visits = edges.map(({ port }) => startVisits(port, roots, hostname));
  await Promise.all(visits.map(({ isServed }) => isServed()));
  // Removals come at random times within an edge's intervals.
  await sleep(1_000 * Math.random());
  lose();
  const url = `${api.url}/v1/projects/${PROJECT_ID}/domains/${hostname}`;
  const { status } = await fetch(url, { method: 'DELETE', headers });
  const answeredAt = Date.now();
  if (status !== 204) throw new Error(`DELETE ${hostname}: ${status}`);
  const lasts = await Promise.all(visits.map(({ lastGood }) => lastGood(answeredAt)));
  const committedAt = await committed(servers, hostname);
  return lasts.map((last) => ({
    afterAnswer: last - answeredAt,
    afterCommit: last - committedAt,
  }));
}

/** In this process's clock. */
async function committed({ pool }: Servers, hostname: string): Promise<number> {
  const { rows } = await pool.query<{ at: Date }>(
    'SELECT pg_xact_commit_timestamp(xmin) AS at FROM domain WHERE hostname = $1 AND removed_at IS NOT NULL',
    [hostname],
  );
  const at = rows[0]?.at.getTime();
  if (at === undefined) throw new Error(`${hostname} is not removed`);
  return at;
}

/** Two visitors of one name at one edge, one of them on a kept connection. */
function startVisits(port: number, roots: string, hostname: string) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1, ca: roots });
  const visitor = createVisitor(port, roots);
  const asks = [() => askKept(agent, port, hostname), () => visitor.ask(hostname)];
  const lasts = asks.map(() => 0);
  let isOver = false;
  const loops = asks.map(async (ask, which) => {
    while (!isOver) {
      if ((await ask()) === 200) lasts[which] = Date.now();
      await sleep(ASK_EVERY_MS);
    }
  });
  return {
    async isServed(): Promise<void> {
      const deadline = Date.now() + GIVE_UP_MS;
      while (lasts.includes(0)) {
        if (Date.now() > deadline) throw new Error(`${hostname} is not served`);
        await sleep(ASK_EVERY_MS);
      }
    },
    /** Ends the visits after the last good answer. */
    async lastGood(since: number): Promise<number> {
      while (Date.now() - Math.max(since, ...lasts) < QUIET_MS) {
        if (Date.now() - since > GIVE_UP_MS) throw new Error(`${hostname} goes on answering`);
        await sleep(ASK_EVERY_MS);
      }
      isOver = true;
      await Promise.all(loops);
      agent.destroy();
      return Math.max(...lasts);
    },
  };
}

function askKept(agent: Agent, port: number, hostname: string): Promise<number | null> {
  return new Promise((resolve) => {
    const options = { agent, host: '127.0.0.1', port, servername: hostname };
    const asked = request({ ...options, headers: { host: hostname } });
    asked.once('response', (response) => {
      response.resume().once('end', () => resolve(response.statusCode ?? null));
      response.once('error', () => resolve(null));
    });
    asked.once('error', () => resolve(null));
    asked.end();
  });
}

async function refuseRemoved({ rootFile }: Sites, edges: readonly EdgeService[]): Promise<void> {
  const roots = readFileSync(rootFile, 'utf8');
  const visitors: readonly Visitor[] = edges.map(({ port }) => createVisitor(port, roots));
  for (const visitor of visitors) {
    for (let nth = 0; nth < plan.length; nth += 1) {
      const status = await visitor.ask(hostnameOf(nth));
      if (status === 200) throw new Error(`${hostnameOf(nth)} answers again`);
    }
  }
}

function row(which: Case, removals: readonly Removal[]): string {
  if (removals.length === 0) throw new Error(`${which}: measured nothing`);
  const figures = (['afterAnswer', 'afterCommit'] as const).flatMap((from) => {
    const times = removals.map((one) => Math.max(0, one[from]));
    return [percentile(times, 0.5), Math.max(...times)].map((ms) => `${ms.toFixed(0)} ms`);
  });
  return `| ${words[which]} | ${removals.length / EDGES} | ${figures.join(' | ')} |`;
}
