/** All waiting work is done in time and has the jobs that wake it. */

import type { DomainStatus } from '../../src/core/life/lifecycle.ts';
import type { QueueName } from '../../src/core/operations/jobs.ts';
import { DAY, type Entry, HOUR, isLate, MINUTE } from './entry.ts';
import { type History, REPAIRED_WITHIN_MS } from './history.ts';
import type { Row } from './row.ts';

/** A restored sweep comes a minute later; a third of the life leaves enough time. */
const RENEWED_WITHIN_MS = 3 * MINUTE;

export function compareRenewal({ system, lostAt, calmAt }: History, entry: Entry, row: Row): void {
  if (entry.status !== 'live') return;
  const isCalm = lostAt === null && system.now() > calmAt + MINUTE;
  const overdueMs = row.renewAt === null ? Infinity : system.now() - Date.parse(row.renewAt);
  if (isCalm && overdueMs > RENEWED_WITHIN_MS) {
    throw new Error(`the renewal of ${entry.hostname} of ${entry.project} is overdue`);
  }
}

/** Every served certificate near expiry has an escalation, and no other one has. */
export function compareRenewalCase({ system, lostAt, calmAt }: History, entry: Entry): void {
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
export function compareWaiting(history: History, entry: Entry, row: Row): void {
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
