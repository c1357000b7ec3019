/** The system with its customers, visitors and domains in every state. */
import type { Endings } from './endings.ts';
import type { World } from './fault.ts';
import { type Client, createClient } from './load/client.ts';
import { createLedger, type Ledger } from './load/ledger.ts';
import { receiveMessages } from './load/receiver.ts';
import { startVisitors, visitOnce } from './load/visitors.ts';
import type { Options } from './options.ts';
import type { Random } from './random.ts';
import { allReady, secondsUntilWorking } from './recovery.ts';
import { type System, startSystem } from './system/system.ts';
import { sleep, until } from './system/wait.ts';
import { CLOSED_ZONE, customerZones } from './system/zones.ts';

export type WorldOptions = {
  readonly options: Options;
  readonly folder: string;
  readonly random: Random;
  readonly endings: Endings;
};

const OUTAGE_MS = 5_000;
const READY_MS = 60_000;

/**
 * Fails queries once, so that the baseline includes Prisma's source map (5 MB). Node keeps it after
 * the first stack trace.
 */
async function failQueries(system: System): Promise<void> {
  system.postgresProxy.cut();
  await sleep(OUTAGE_MS);
  system.postgresProxy.restore();
  await until('every process is ready', () => allReady(system), READY_MS);
}

/** Resolves when everything runs and is warm. */
export async function openWorld({
  options,
  folder,
  random,
  endings,
}: WorldOptions): Promise<World> {
  const system = await startSystem(folder, endings);
  await failQueries(system);
  const ledger = createLedger();
  const client = createClient(system, ledger);
  const messages = await receiveMessages(endings);
  const given = { count: options.domains, webhookUrl: messages.url };
  const { live, pending } = await populate(system, client, given);
  const world = { system, client, ledger, messages, live, pending, random, folder };
  // Each edge loads every certificate before the baseline is measured.
  for (const hostname of live) {
    for (const { ports } of system.placesOf('edge')) await visitOnce(system, hostname, ports.https);
  }
  startCustomers({ system, client, ledger, random, webhookUrl: messages.url }, endings);
  startVisitors(system, { hostnames: live, ledger, random }, endings);
  await secondsUntilWorking(world);
  return world;
}

/* API clients that write and read continuously; some customers have their records ready. */

const PAUSE_MS = 150;
/** The API allows 100 an hour per project. */
const DOMAINS_A_PROJECT = 90;
/** Limit of added domains; the oldest are removed. */
const ATTACHED_MAX = 30;

type Customers = {
  readonly system: System;
  readonly client: Client;
  readonly ledger: Ledger;
  readonly random: Random;
  readonly webhookUrl: string;
};

function startCustomers(given: Customers, endings: Endings): void {
  const { client, ledger, random, system, webhookUrl } = given;
  const own: string[] = [];
  let [stopped, number, project, added] = [false, 0, '', 0];

  async function openProject(): Promise<void> {
    if (project !== '' && added < DOMAINS_A_PROJECT) return;
    project = (await client.createProject(`customers-${number}`, webhookUrl)) ?? '';
    added = 0;
  }

  async function addDomain(): Promise<void> {
    number += 1;
    await openProject();
    if (project === '') return;
    const hostname = `added-${number}.${random.pick(customerZones)}`;
    added += 1;
    const target = await client.addDomain(project, hostname);
    if (target === null) return;
    own.push(hostname);
    if (random.next() < 0.5) await system.zones.point(hostname, target);
    if (own.length > ATTACHED_MAX) await removeDomain(own.shift() ?? '');
  }

  async function removeDomain(hostname: string): Promise<void> {
    await client.removeDomain(hostname);
    await system.zones.drop(hostname);
  }

  async function verify(): Promise<void> {
    const attached = [...ledger.domains.values()].filter((one) => one.state === 'attached');
    if (attached.length === 0) return;
    const { projectId, hostname } = random.pick(attached);
    await client.call('POST', `/v1/projects/${projectId}/domains/${hostname}/verify`);
  }

  async function readPet(): Promise<void> {
    const ids = [...ledger.pets.keys()];
    if (ids.length > 0) await client.call('GET', `/v1/pets/${random.pick(ids)}`);
  }

  async function actOnce(): Promise<void> {
    const drawn = random.next();
    if (drawn < 0.5) return client.createPet(`pet-${number++}`);
    if (drawn < 0.75) return readPet();
    if (drawn < 0.93) return verify();
    return addDomain();
  }

  const working = [1, 2].map(async () => {
    while (!stopped) {
      await actOnce();
      await sleep(PAUSE_MS);
    }
  });
  endings.push('the customers', () => {
    stopped = true;
    return Promise.all(working);
  });
}

/* Domains in every state before the first fault, created the way customers do. */

const kinds = ['live', 'missing', 'wrong', 'blocked', 'drifted', 'failed', 'removed'] as const;
type Kind = (typeof kinds)[number];
/**
 * Shares of all domains. Sets the number of projects, since the API allows 100 domains an hour
 * each.
 */
const shares: Readonly<Record<Kind, number>> = {
  live: 0.55,
  missing: 0.15,
  wrong: 0.08,
  blocked: 0.07,
  drifted: 0.05,
  failed: 0.05,
  removed: 0.05,
};
const A_PROJECT = 60;
const AT_ONCE = 6;
const PATIENCE_MS = 300_000;

type Member = { readonly kind: Kind; readonly hostname: string; target: string };

type Population = { readonly live: readonly string[]; readonly pending: readonly string[] };

async function populate(
  system: System,
  client: Client,
  { count, webhookUrl }: { readonly count: number; readonly webhookUrl: string },
): Promise<Population> {
  const members = listMembers(count);
  let attempts = 0;
  const projects = await Promise.all(
    Array.from({ length: Math.ceil(count / A_PROJECT) }, (_, index) =>
      until(
        'a project is made',
        () => client.createProject(`shop-${index}-${attempts++}`, webhookUrl),
        PATIENCE_MS,
      ),
    ),
  );
  const waiting = [...members.entries()];
  const add = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [index, member] = next;
      const projectId = projects[index % projects.length] ?? '';
      // A shared machine may be too slow to respond in time.
      const added = () => client.addDomain(projectId, member.hostname);
      member.target = await until(`${member.hostname} is added`, added, PATIENCE_MS);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, add));
  await Promise.all(members.map((member) => publish(system, member)));
  await bringToState(system, client, members);
  const named = (kind: Kind) => members.filter((one) => one.kind === kind).map((m) => m.hostname);
  return { live: named('live'), pending: named('missing') };
}

function listMembers(count: number): Member[] {
  return kinds.flatMap((kind) =>
    Array.from({ length: Math.max(1, Math.round(count * shares[kind])) }, (_, index) => {
      const zone = customerZones[index % customerZones.length] ?? customerZones[0];
      const hostname = `${kind}-${index}.${kind === 'blocked' ? CLOSED_ZONE : zone}`;
      return { kind, hostname, target: '' };
    }),
  );
}

async function publish({ zones }: System, { kind, hostname, target }: Member): Promise<void> {
  if (kind === 'missing' || kind === 'failed') return;
  await zones.point(hostname, kind === 'wrong' ? 'elsewhere.example' : target);
}

async function bringToState(
  system: System,
  client: Client,
  members: readonly Member[],
): Promise<void> {
  const of = (...some: readonly Kind[]) =>
    members.filter(({ kind }) => some.includes(kind)).map(({ hostname }) => hostname);
  await statusOf(system, of('live', 'drifted', 'removed'), 'live');
  for (const hostname of of('drifted')) await system.zones.point(hostname, 'elsewhere.example');
  for (const hostname of of('removed')) {
    await client.removeDomain(hostname);
    await system.zones.drop(hostname);
  }
  // Backdates them by a whole window.
  await system.sql(
    `UPDATE domain SET pending_since = pending_since - interval '1 day' WHERE hostname = ANY($1)`,
    [of('failed')],
  );
  await statusOf(system, of('drifted'), 'drifted');
  await statusOf(system, of('failed'), 'failed');
}

async function statusOf(
  { sql }: System,
  hostnames: readonly string[],
  status: string,
): Promise<void> {
  await until(
    `${hostnames.length} domains ${status}`,
    async () => {
      const [row] = await sql<{ count: string }>(
        `SELECT count(*) FROM domain
         WHERE hostname = ANY($1) AND status = $2::domain_status AND removed_at IS NULL`,
        [hostnames, status],
      );
      return Number(row?.count) === hostnames.length;
    },
    PATIENCE_MS,
  );
}
