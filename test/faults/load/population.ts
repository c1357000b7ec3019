/** Domains in every state before the first fault, created the way customers do. */
import type { System } from '../system/system.ts';
import { until } from '../system/wait.ts';
import { CLOSED_ZONE, customerZones } from '../system/zones.ts';
import type { Client } from './client.ts';

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

export type Population = { readonly live: readonly string[]; readonly pending: readonly string[] };

export async function populate(
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
