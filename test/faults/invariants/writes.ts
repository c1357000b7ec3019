import type { World } from '../fault.ts';
import type { ShownDomain } from '../load/client.ts';
import type { DomainWrite } from '../load/ledger.ts';
import { few, type Invariant } from './invariant.ts';

const AT_ONCE = 8;
/** How many already verified writes each fault reads again. */
const AGAIN = 200;

const read = new Set<number>();

export const writes: Invariant = {
  id: 'I2',
  words: 'every acknowledged write is readable',
  async check(world) {
    const { ledger, random, client } = world;
    const fresh = [...ledger.pets].filter(([id]) => !read.has(id));
    const old = random.shuffled([...ledger.pets].filter(([id]) => read.has(id))).slice(0, AGAIN);
    const pets = await inTurns([...fresh, ...old], async ([id, name]) => {
      const { status, body } = await client.call('GET', `/v1/pets/${id}`);
      const held = status === 200 && (body as { name: string }).name === name;
      return held ? [] : [`pet ${id} (${name}) reads ${status} ${JSON.stringify(body)}`];
    });
    for (const [id] of fresh) read.add(id);
    const domains = await inTurns([...ledger.domains.values()], (write) =>
      readDomain(world, write),
    );
    const projects = await inTurns([...ledger.projects], async (id) => {
      const { status } = await client.call('GET', `/v1/projects/${id}`);
      return status === 200 ? [] : [`project ${id} reads ${status}`];
    });
    return few([...pets, ...domains, ...projects]);
  },
};

/** A removal between the ledger check and the response is not a loss. */
async function readDomain({ client }: World, write: DomainWrite): Promise<string[]> {
  const { projectId, hostname, state } = write;
  if (state === 'unknown') return [];
  const answer = await client.call('GET', `/v1/projects/${projectId}/domains/${hostname}`);
  if (write.state !== state) return [];
  const isThere =
    answer.status === 200 && (answer.body as ShownDomain).hostname === hostname ? 'attached' : null;
  const isGone = answer.status === 404 ? 'removed' : null;
  return (isThere ?? isGone) === state
    ? []
    : [`${hostname} was ${state}, and reads ${answer.status}`];
}

async function inTurns<T>(
  items: readonly T[],
  verify: (item: T) => Promise<readonly string[]>,
): Promise<string[]> {
  const waiting = [...items];
  const problems: string[] = [];
  const work = async () => {
    for (let item = waiting.shift(); item !== undefined; item = waiting.shift()) {
      problems.push(...(await verify(item)));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return problems;
}

/* I1: everything accepted has a next check or an end. */

type Row = { hostname: string; status: string };

export const accepted: Invariant = {
  id: 'I1',
  words: 'everything accepted has a next check or an end',
  async check({ system }) {
    const forgotten = await system.sql<Row>(
      `SELECT hostname, status FROM domain WHERE removed_at IS NULL AND CASE
         WHEN status IN ('pending', 'verified') THEN next_check_at IS NULL
         ELSE recheck_at IS NULL END`,
    );
    const unsent = await system.sql<{ id: string }>(
      `SELECT id FROM webhook_delivery WHERE status = 'pending'
         AND next_attempt_at IS NULL AND queued_at IS NULL`,
    );
    return few([
      ...forgotten.map(({ hostname, status }) => `${hostname} is ${status} without a next check`),
      ...unsent.map(({ id }) => `delivery ${id} waits for nothing`),
    ]);
  },
};
