/** What a run that was not killed must have done, according to the docs. */
import { isDeepStrictEqual } from 'node:util';
import type { Alarm } from './alarm-clock.ts';
import { type Entry, isLate } from './entry.ts';
import type { History, RunRecord } from './history.ts';
import type { Ended } from './run-record.ts';
import type { Shown } from './shown.ts';
import { causeOf, verdictOf } from './verdict.ts';

export function expectOfRun(history: History, alarm: Alarm, ended: Ended): void {
  const { result, runRecord } = ended;
  const [entry] = runRecord.fences.keys();
  if (entry === undefined || result === 'fault') return;
  if (alarm.name === 'escalate-certificate') expectOfEscalation(history, entry, ended);
  else if (result !== 'killed') expectOfChecks(history, alarm, entry, ended);
}

function expectOfChecks(history: History, alarm: Alarm, entry: Entry, { runRecord }: Ended): void {
  expectChecksSaved(history, runRecord);
  if (runRecord.disturbed || alarm.name !== 'check-dns' || runRecord.checks.length > 0) return;
  const isItsJob = 'epoch' in alarm.job && alarm.job.epoch === entry.epoch;
  if (isItsJob && entry.attached && entry.status === 'pending') {
    throw new Error(`no check of ${entry.hostname} of ${entry.project}`);
  }
}

/** Every check is saved, unless it is stale or equivalent to none. */
export function expectChecksSaved(history: History, runRecord: RunRecord): void {
  for (const check of runRecord.checks) {
    const { entry, counted } = check;
    if (counted || !isToBeSaved(history, runRecord, check)) continue;
    throw new Error(`a check at ${entry.hostname} of ${entry.project} was not saved`);
  }
}

function isToBeSaved(
  { model }: History,
  { checks, fences, of }: RunRecord,
  { entry, seen }: RunRecord['checks'][number],
): boolean {
  const fence = fences.get(entry);
  if (!entry.attached || !isDeepStrictEqual(fence, model.fence(entry))) return false;
  // A right check before an order is equivalent to none.
  const verdict = verdictOf(entry, seen);
  // The name got or lost its holder in this run, so this one is checked again.
  const waits = entry.status === 'pending' || entry.status === 'failed';
  const hadHolder = checks.some(
    (other) => other.counted && other.entry !== entry && other.entry.hostname === entry.hostname,
  );
  const hasHolder = model.holder(entry.hostname) !== null;
  if (waits && verdict === 'right' && (hasHolder || hadHolder)) return false;
  if (entry.status === 'verified') return verdict === 'wrong';
  return of !== 'renew-certificate' || verdict !== 'right';
}

/** Thirty minutes without a certificate: an escalation with the likeliest cause. */
function expectOfEscalation(history: History, entry: Entry, { result, runRecord }: Ended): void {
  const [check] = runRecord.checks;
  if (check === undefined || check.counted) return;
  const fence = runRecord.fences.get(entry);
  if (!entry.attached || entry.status !== 'verified' || fence?.life !== entry.life) return;
  settleCase(history, entry, check.seen, result);
}

/** A fifth of the life left: an escalation per served domain; a killed run may have opened some. */
export function expectOfRenewalCases(history: History, { result, runRecord }: Ended): void {
  const { system } = history;
  for (const { entry, seen } of runRecord.checks) {
    if (!isLate(entry, system.now())) throw new Error(`${entry.hostname} needs no case yet`);
    settleCase(history, entry, seen, result);
  }
}

function settleCase(
  { model, maybe }: History,
  entry: Entry,
  seen: Shown,
  result: Ended['result'],
): void {
  const cause = causeOf(entry, seen);
  if (result === 'killed') maybe.push({ entry, cause });
  else model.escalated(entry, cause);
}
