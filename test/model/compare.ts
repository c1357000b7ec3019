/** Compares the service with the model after every step of a history. */
import { isDeepStrictEqual } from 'node:util';
import type { DomainStatus } from '../../src/core/life/lifecycle.ts';
import type { QueueName } from '../../src/core/operations/jobs.ts';
import { DAY, type Entry, HOUR, isLate, MINUTE } from './entry.ts';
import { type History, REPAIRED_WITHIN_MS, type SweepTimes, targetOf } from './history.ts';
import { type EventRow, oneRowPerName, type Row, type Snapshot, snapshotOf } from './row.ts';

/** What the comparison has seen so far of a history. */
export type Seen = {
  domains: readonly Row[];
  events: number;
  readonly numbers: Map<string, number>;
  readonly codes: Map<string, readonly string[]>;
};

export const nothingSeen = (): Seen => ({
  domains: [],
  events: 0,
  numbers: new Map(),
  codes: new Map(),
});

/**
 * Throws if the service differs from the model. The database is only read after a run; overdue work
 * is checked every time.
 */
export async function compare(history: History, seen: Seen): Promise<void> {
  const { model, projects } = history;
  const hasRun = history.hasRun;
  history.hasRun = false;
  const events = hasRun ? await read(history, seen) : [];
  const rowOf = (entry: Entry) =>
    seen.domains.find(
      ({ project, hostname }) => project === projects[entry.project] && hostname === entry.hostname,
    );
  adopt(history, rowOf);
  for (const entry of model.entries) compareDomain(history, entry, rowOf(entry));
  if (!hasRun) return;
  compareEvents(history, seen, events);
  for (const entry of model.entries) {
    if (entry.attached) compareFindings(entry, seen, rowOf(entry));
  }
}

/** At the end of a history, also what the edge serves, which only the rows tell. */
export async function compareAll(history: History, seen: Seen): Promise<void> {
  history.hasRun = true;
  await compare(history, seen);
  const known = history.places.filter(({ hostname }) =>
    history.model.entries.some((entry) => entry.hostname === hostname && entry.life > 0),
  );
  await compareEdge(history, known);
}

/** Reads all of a history in one statement; returns the events since the last time. */
async function read(history: History, seen: Seen): Promise<readonly EventRow[]> {
  const { system, projects } = history;
  const numbers = projects.map((project) => seen.numbers.get(project) ?? 0);
  const { rows } = await system.service.database.pool.query<{ snapshot: Snapshot }>({
    name: 'snapshot',
    text: snapshotOf,
    values: [projects, numbers],
  });
  const [{ snapshot } = { snapshot: { domains: [], events: [] } }] = rows;
  seen.domains = oneRowPerName(snapshot.domains);
  history.sweepTimes = sweepTimesOf(seen.domains);
  return snapshot.events;
}

/** When each sweep next has work, by the rows. */
function sweepTimesOf(domains: readonly Row[]): SweepTimes {
  const first = (times: readonly (string | null)[]) =>
    Math.min(...times.map((time) => (time === null ? Infinity : Date.parse(time))));
  const attached = domains.filter((row) => row.attached);
  const settled = attached.filter(({ status }) => ['live', 'drifted', 'failed'].includes(status));
  return {
    'recheck-live': first(settled.map(({ recheckAt }) => recheckAt)),
    'renew-certificate': first(
      attached.map(({ status, renewAt }) => (status === 'live' ? renewAt : null)),
    ),
    'escalate-renewals': first(
      attached.map(({ status, escalateAt }) =>
        status === 'live' || status === 'drifted' ? escalateAt : null,
      ),
    ),
  };
}

/** A killed run may have opened its escalations or not: the database decides. */
function adopt(history: History, rowOf: (entry: Entry) => Row | undefined): void {
  const { maybe, model } = history;
  history.maybe = [];
  for (const { entry, cause } of maybe) {
    const row = rowOf(entry);
    if (row === undefined) continue;
    const isOpen = row.openCauses.includes(cause);
    // Its check may also have been the first or second of two that agree.
    if (isOpen) entry.doubt = cause;
    if (isOpen) model.escalated(entry, cause);
    entry.doubt = row.candidate;
  }
}

function compareDomain(history: History, entry: Entry, row: Row | undefined): void {
  const name = `${entry.hostname} of ${entry.project}`;
  if (row === undefined) {
    if (entry.life > 0) throw new Error(`${name} is gone`);
    return;
  }
  const is = {
    attached: row.attached,
    status: row.attached ? row.status : null,
    life: row.lives,
    record: row.target,
    orders: row.orders,
    openOrders: row.openOrders,
    certificateUntil: row.until === null ? null : Date.parse(row.until),
    escalations: row.openCauses,
  };
  const shouldBe = {
    attached: entry.attached,
    status: entry.attached ? entry.status : null,
    life: entry.life,
    record: targetOf(history, entry),
    orders: entry.ordersOpened,
    openOrders: entry.order === null ? 0 : 1,
    certificateUntil: lastEnd(entry),
    escalations: entry.escalation === null ? [] : [entry.escalation],
  };
  if (!isDeepStrictEqual(is, shouldBe)) {
    throw new Error(`${name} is ${JSON.stringify(is)}, should be ${JSON.stringify(shouldBe)}`);
  }
  if (!entry.attached) return;
  compareWaiting(history, entry, row);
  compareRenewal(history, entry, row);
  compareRenewalCase(history, entry);
}

function lastEnd({ certificates }: Entry): number | null {
  return certificates.length === 0 ? null : Math.max(...certificates.map(({ until }) => until));
}

function compareEvents(
  { model, projects, places }: History,
  seen: Seen,
  events: readonly EventRow[],
) {
  for (const event of events) follow(seen, event);
  const fresh = model.events.slice(seen.events);
  seen.events = model.events.length;
  for (const [index, project] of projects.entries()) {
    const was = events
      .filter((event) => event.project === project && !unordered.includes(event.type))
      .map(inOrder);
    const should = fresh.filter((event) => event.project === index).map(inOrder);
    expectSame(`project ${index} has the events`, was.toSorted(), should.toSorted());
    // Escalation events interleave with others; the rest has an order.
    for (const { hostname } of places) {
      const of = (list: readonly string[]) =>
        list.filter((one) => one.startsWith(`${hostname} domain`));
      expectSame(`project ${index} has the events, in this order,`, of(was), of(should));
    }
  }
}

/** Findings add up (`follow`); a claim is reported at most once a day (test/workers/ownership.test.ts). */
const unordered: readonly string[] = ['domain.findings_changed', 'domain.contested'];

function expectSame(what: string, was: readonly string[], should: readonly string[]): void {
  if (!isDeepStrictEqual(was, should)) {
    throw new Error(`${what} [${was.join(', ')}], should be [${should.join(', ')}]`);
  }
}

/** Checks that numbers have no gaps and that findings add up. */
function follow(seen: Seen, { project, number, hostname, type, data }: EventRow): void {
  const expected = (seen.numbers.get(project) ?? 0) + 1;
  if (number !== expected) throw new Error(`event ${number} of ${project} is not ${expected}`);
  seen.numbers.set(project, number);
  const key = `${project} ${hostname}`;
  if (type === 'domain.added') seen.codes.set(key, []);
  if (type === 'domain.findings_changed') seen.codes.set(key, changed(seen, key, data));
}

function inOrder({ hostname, type }: { hostname: string; type: string }): string {
  return `${hostname} ${type}`;
}

/** Findings add up: none appears twice, and none is cleared that was absent. */
function changed(seen: Seen, key: string, data: EventRow['data']): readonly string[] {
  const before = seen.codes.get(key) ?? [];
  const codes = (list: readonly { readonly code: string }[] = []) => list.map(({ code }) => code);
  const [cleared, appeared] = [codes(data.cleared), codes(data.appeared)];
  const rest = before.filter((code) => !cleared.includes(code));
  if (rest.length + cleared.length !== before.length) {
    throw new Error(`[${cleared}] cleared, of [${before}]`);
  }
  return [...rest, ...appeared];
}

function compareFindings({ hostname }: Entry, seen: Seen, row: Row | undefined): void {
  if (row === undefined) return;
  const known = seen.codes.get(`${row.project} ${hostname}`) ?? [];
  if (!isDeepStrictEqual([...row.codes].sort(), [...known].sort())) {
    throw new Error(`${hostname} has findings [${row.codes}], its events say [${known}]`);
  }
}

/** Visitors reach the project that holds the name in the model, or none. */
async function compareEdge(
  history: History,
  places: readonly { readonly hostname: string }[],
): Promise<void> {
  await history.system.passTime();
  await Promise.all(places.map(({ hostname }) => compareRoute(history, hostname)));
}

async function compareRoute({ system, model }: History, hostname: string): Promise<void> {
  const route = await system.service.lookups.findRoute(hostname);
  const holder = model.holder(hostname);
  if ((route === null) !== (holder === null)) {
    throw new Error(`the edge serves ${hostname}: ${route !== null}; held: ${holder !== null}`);
  }
  const hasCertificate = route !== null && route.certificateId !== null;
  const mayServe = holder?.certificates.some(({ until }) => until > system.now()) ?? false;
  if (hasCertificate !== mayServe) {
    throw new Error(`a certificate of ${hostname} is served: ${hasCertificate}`);
  }
}

/* All waiting work is done in time and has the jobs that wake it. */

/** A restored sweep comes a minute later; a third of the life leaves enough time. */
const RENEWED_WITHIN_MS = 3 * MINUTE;

function compareRenewal({ system, lostAt, calmAt }: History, entry: Entry, row: Row): void {
  if (entry.status !== 'live') return;
  const isCalm = lostAt === null && system.now() > calmAt + MINUTE;
  const overdueMs = row.renewAt === null ? Infinity : system.now() - Date.parse(row.renewAt);
  if (isCalm && overdueMs > RENEWED_WITHIN_MS) {
    throw new Error(`the renewal of ${entry.hostname} of ${entry.project} is overdue`);
  }
}

/** Every served certificate near expiry has an escalation, and no other one has. */
function compareRenewalCase({ system, lostAt, calmAt }: History, entry: Entry): void {
  const { status, escalation, hostname } = entry;
  if (status !== 'live' && status !== 'drifted') return;
  if (escalation !== null && !isLate(entry, system.now())) {
    throw new Error(`${hostname} of ${entry.project} has a case, and needs none`);
  }
  const isCalm = lostAt === null && system.now() > calmAt + MINUTE;
  if (isCalm && escalation === null && isLate(entry, system.now() - RENEWED_WITHIN_MS)) {
    throw new Error(`the certificate of ${hostname} of ${entry.project} ends without a case`);
  }
}

/** Per state, the longest wait for a check, with jitter (docs/understand/life-of-a-domain.md). */
const waitsMax = {
  pending: 5.5 * MINUTE,
  verified: 25 * HOUR,
  live: HOUR,
  drifted: 16.5 * MINUTE,
  failed: DAY + MINUTE,
} as const;

const jobsOf: { readonly [S in DomainStatus]: readonly QueueName[] } = {
  pending: ['check-dns'],
  verified: ['issue-certificate', 'escalate-certificate'],
  live: [],
  drifted: [],
  failed: [],
};

/** Every accepted domain has a next check or a final state, and its job if it has one. */
function compareWaiting(history: History, entry: Entry, row: Row): void {
  const { system, lostAt, calmAt } = history;
  const { status, hostname } = entry;
  const ownJob = status === 'pending' || status === 'verified';
  const next = ownJob ? row.nextCheckAt : row.recheckAt;
  if (next === null) {
    if (status === 'failed' && system.now() > entry.since + 29 * DAY) return;
    throw new Error(`${hostname} of ${entry.project}, ${status}, waits for nothing`);
  }
  const inMs = Date.parse(next) - system.now();
  if (inMs > waitsMax[status]) throw new Error(`${hostname}, ${status}, waits ${inMs} ms`);
  const isCalm = lostAt === null && system.now() > calmAt;
  if (isCalm && inMs < -REPAIRED_WITHIN_MS) {
    throw new Error(`${hostname} of ${entry.project}, ${status}, is ${-inMs} ms overdue`);
  }
  compareJobs(history, entry, row);
}

function compareJobs(history: History, entry: Entry, { id, epoch }: Row): void {
  const { system, lostAt, woken } = history;
  const { status, hostname } = entry;
  const name = `${hostname} of ${entry.project}, ${status},`;
  const job = { domainId: id, epoch };
  const missing = jobsOf[status].filter((queue) => !system.alarms.holds(queue, job));
  if (missing.length > 0 && lostAt === null) throw new Error(`${name} has no job in ${missing}`);
  if (woken !== entry) return;
  history.woken = null;
  if (missing.length === 0 && !system.alarms.isDue(jobsOf[status], job)) {
    throw new Error(`${name} was not woken`);
  }
}
