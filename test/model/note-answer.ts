/** Reports the stores' results for a worker to the model, which draws its own conclusions. */

import type { MoveResult } from '../../src/db/domains/transitions.ts';
import type { Entry, Status } from './entry.ts';
import type { History, RunRecord } from './history.ts';
import type { StoreCall } from './system.ts';
import { causeOf } from './verdict.ts';

type Named = { readonly projectId: string; readonly hostname: string };

export function noteAnswer(
  history: History,
  what: StoreCall,
  args: readonly unknown[],
  answer: unknown,
): void {
  const runRecord = history.runRecords.getStore();
  if (runRecord === undefined) return;
  // Arguments and results as in src/db/domains/checks.ts and certificates.ts.
  if (what === 'load') hasRead(history, runRecord, answer as Named | undefined);
  else if (what === 'loadWork') {
    const work = answer as { domain: Named; order: Ordered | null } | undefined;
    hasRead(history, runRecord, work?.domain);
    knowsOrder(history, runRecord, work?.domain, work?.order);
  } else if (what === 'save') {
    hasSaved(history, runRecord, (args[0] as { domain: Named }).domain, answer as MoveResult);
  } else if (what === 'setBack') hasSetBack(runRecord, args[0] as string);
  else {
    hasOrdered(history, runRecord, what, { args, answer });
    if (what === 'openOrder') {
      knowsOrder(history, runRecord, args[0] as Named, answer as Ordered | null);
    }
  }
}

/** An order, or what it has to wait for, which has no ID. */
type Ordered = { readonly id?: string };

const isWait = (answer: Ordered | null) => answer !== null && answer.id === undefined;

function knowsOrder(
  history: History,
  { orders }: RunRecord,
  domain: Named | undefined,
  order: Ordered | null | undefined,
): void {
  if (domain !== undefined && order?.id !== undefined) {
    orders.set(order.id, entryOf(history, domain));
  }
}

function hasRead(
  { model, ...history }: History,
  runRecord: RunRecord,
  read: Named | undefined,
): void {
  if (read === undefined) return;
  const entry = entryOf({ ...history, model }, read);
  runRecord.fences.set(entry, model.fence(entry));
}

function hasSaved(history: History, runRecord: RunRecord, saved: Named, answer: MoveResult): void {
  const { kind } = answer;
  const entry = entryOf(history, saved);
  const check = runRecord.checks.findLast((one) => one.entry === entry);
  if (answer.kind === 'unproven' && check !== undefined) {
    check.rivals = answer.rivals.map((id) => rivalOf(history, entry, id));
  }
  if (kind !== 'saved') return;
  const fence = runRecord.fences.get(entry);
  if (check === undefined || fence === undefined) throw new Error('saved without a check');
  const { model, system } = history;
  const before = entry.status;
  const cause = causeOf(entry, check.seen);
  check.counted = model.checked(entry, check, system.now(), fence);
  if (entry.status !== 'pending' || before !== 'pending') history.sweepTimes = null;
  // The escalation and the way back to pending are one transaction.
  if (check.counted && runRecord.of === 'escalate-certificate') model.escalated(entry, cause);
  // A drifted domain can recover in the check that finds its certificate expired.
  const ended = isServed(before) && entry.status === 'verified';
  if (check.counted && ended) model.escalated(entry, cause);
}

function isServed(status: Status): boolean {
  return status === 'live' || status === 'drifted';
}

/** The service reports the rivals; the model says who may be one. */
function rivalOf({ model }: History, entry: Entry, id: string): Entry {
  const rival = model.rivals(entry).find((one) => one.id === id);
  if (rival !== undefined) return rival;
  throw new Error(`${id} is no rival of ${entry.hostname} of ${entry.project}`);
}

function hasOrdered(
  history: History,
  runRecord: RunRecord,
  what: StoreCall,
  { args, answer }: { readonly args: readonly unknown[]; readonly answer: unknown },
): void {
  const { model, system } = history;
  const entry = entryOf(history, args[0] as Named);
  const fence = runRecord.fences.get(entry);
  if (fence === undefined) throw new Error('ordered without a read');
  const at = system.now();
  history.sweepTimes = null;
  if (what === 'openOrder') {
    if (isWait(answer as Ordered | null)) model.putOff(entry, at);
    else model.openedOrder(entry, at, fence);
  }
  if (what === 'reuse') model.reused(entry, fence, at);
  if (what === 'store') {
    const { issuedAt, expiresAt } = args[2] as { issuedAt: Date; expiresAt: Date };
    const certificate = {
      from: issuedAt.getTime(),
      until: expiresAt.getTime(),
      storedAt: at,
    };
    model.issued(entry, certificate, fence, at);
  }
  if (what === 'refuse') {
    const { problem } = args[2] as { problem: { type: string; retryAfter?: string } };
    const retryAfter =
      problem.retryAfter === undefined ? null : new Date(problem.retryAfter).getTime();
    model.refused(entry, { type: problem.type, retryAfter }, at);
  }
}

function hasSetBack({ orders }: RunRecord, certificateId: string): void {
  const entry = orders.get(certificateId);
  if (entry !== undefined && entry.order !== null) entry.setBack = true;
}

function entryOf({ model, projects }: Pick<History, 'model' | 'projects'>, named: Named): Entry {
  return model.find(projects.indexOf(named.projectId), named.hostname);
}
