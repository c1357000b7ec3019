import type { Fault, World } from '../fault.ts';
import { until } from '../system/wait.ts';
import { crowdedZones } from '../system/zones.ts';

/**
 * Two cores check 60 to 100 a second beside everything else, and a failed domain is due again after
 * six minutes (`TIME_SCALE`). `npm run bench:checks -- reconcile` has 100,000.
 */
const MANY = Number(process.env['MANY'] ?? 20_000);
/** Event numbers are sequential per project, so the domains are spread over many projects. */
const PROJECTS = 500;
const API_P99_MS = 250;
const START_S = 1;
const PATIENCE_MS = 1_200_000;

/** Each is checked once, fails because its window is over, and is checked again a day later. */
const insert = `
  WITH made AS (
    INSERT INTO project (id, name, slug, plan)
    SELECT gen_random_uuid(), 'Crowd', 'crowd-' || of, 'pro' FROM generate_series(0, ${PROJECTS - 1}) AS of
    RETURNING id, substr(slug, 7)::int AS of)
  INSERT INTO domain (id, project_id, hostname, target, status, added_at, pending_since, next_check_at)
  SELECT gen_random_uuid(), made.id, 'due-' || number || '.crowd-' || number % ${crowdedZones.length} || '.test',
    'due-' || number || '.edge.signpost.test', 'pending', now(), now() - interval '1 day', now()
  FROM generate_series(1, $1) AS number JOIN made ON of = number % ${PROJECTS}`;

export const manyDue: Fault = {
  name: 'many-due',
  what: `${MANY.toLocaleString('en-US')} pending domains due at once, without jobs in the queue`,
  pass: `the first is checked within ${START_S} s of the reconciler's turn, the API's p99 stays below ${API_P99_MS} ms`,
  seconds: 400,
  parts: ['alone'],
  tolerance: { api: 'none', visitors: 'none' },
  recoverySeconds: 30,
  fillsCachesMb: 60, // 10,000 observations of 4 KB and cached zones
  async inject(world) {
    const { ledger, system } = world;
    const began = performance.now();
    await system.sql(insert, [MANY]);
    const inserted = performance.now();
    await until('the first is checked', async () => (await checked(world)) > 0, PATIENCE_MS);
    const first = (performance.now() - inserted) / 1_000;
    await until('all are checked', async () => (await checked(world)) === MANY, PATIENCE_MS);
    const all = (performance.now() - inserted) / 1_000;
    const ms = ledger.answered.filter(({ at }) => at >= inserted).map((answer) => answer.ms);
    const p99 = ms.toSorted((a, b) => a - b)[Math.floor(0.99 * ms.length)] ?? Number.NaN;
    await forget(world);
    const done = (performance.now() - began) / 1_000;
    return {
      seen: [
        `first checked after ${first.toFixed(1)} s, the last after ${all.toFixed(0)} s`,
        `API p99 ${p99.toFixed(0)} ms of ${ms.length} requests`,
        `${done.toFixed(0)} s altogether`,
      ],
      slow: p99 > API_P99_MS ? [`API p99 ${p99.toFixed(0)} ms, goal ${API_P99_MS} ms`] : [],
    };
  },
};

async function checked({ system }: World): Promise<number> {
  const [row] = await system.sql<{ count: string }>(
    `SELECT count(*) FROM domain JOIN project ON project.id = project_id
     WHERE slug LIKE 'crowd-%' AND last_checked_at IS NOT NULL`,
  );
  return Number(row?.count);
}

/**
 * Deletes the rows, so that later faults see no events of them. One transaction locks them first,
 * because workers may check them again and add events.
 */
async function forget({ system }: World): Promise<void> {
  const ofCrowd = `(SELECT id FROM project WHERE slug LIKE 'crowd-%')`;
  await system.sql(`
    SELECT count(*) FROM (
      SELECT id FROM domain WHERE project_id IN ${ofCrowd} ORDER BY id FOR UPDATE) AS locked;
    DELETE FROM recorded_event WHERE project_id IN ${ofCrowd};
    DELETE FROM domain WHERE project_id IN ${ofCrowd};
    DELETE FROM project WHERE slug LIKE 'crowd-%'`);
}
