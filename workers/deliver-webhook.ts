/**
 * pending → delivered, or the next attempt; failed after the last one, at a 410, or with its webhook.
 * Woken by: the relay, for each attempt anew: no job waits in the queue for its time, or for a place in a line.
 * Reads: the delivery with its webhook and its event. Writes: what came of the attempt; a webhook that is given up.
 * May run twice: the receiver gets the same webhook-id again, and the save holds only for the attempt that was loaded.
 */
import { type Answer, decideAttempt, type Verdict } from '../src/core/operations/webhook-plan.ts';
import type { DeliveryOutcome, LoadedDelivery } from '../src/db/delivery/deliveries.ts';
import { done, type JobResult } from './running/job.ts';

export type DeliverWebhookDeps = {
  load(deliveryId: string): Promise<LoadedDelivery | null>;
  /** A place in the lines of the receiver and of the project; null where there is none. */
  enterLines(delivery: LoadedDelivery): (() => void) | null;
  send(delivery: LoadedDelivery, at: Date): Promise<Answer>;
  putBack(delivery: LoadedDelivery, until: Date): Promise<void>;
  save(delivery: LoadedDelivery, outcome: DeliveryOutcome, at: Date): Promise<boolean>;
  readonly windowMs: number;
  /** 0 to 1. */
  jitter(): number;
  now(): Date;
};

/** Our choice: soon enough not to be missed, and later than the queue takes to forget this job. */
const CROWDED_WAIT_MS = { least: 1_000, spread: 500 } as const;

/** Tries a delivery once. */
export async function deliverWebhook(
  deps: DeliverWebhookDeps,
  { deliveryId }: { readonly deliveryId: string },
): Promise<JobResult> {
  const delivery = await deps.load(deliveryId);
  if (delivery === null || delivery.status !== 'pending') return done;
  // Another run of this job was quicker, and the row waits for its turn.
  if (delivery.queuedAt === null) return done;
  const ended = endOf(delivery);
  if (ended !== null) return save(deps, delivery, ended, deps.now());
  const leave = deps.enterLines(delivery);
  if (leave === null) {
    await deps.putBack(delivery, afterTheCrowd(deps));
    return done;
  }
  try {
    return await attempt(deps, delivery);
  } finally {
    leave();
  }
}

async function attempt(deps: DeliverWebhookDeps, delivery: LoadedDelivery): Promise<JobResult> {
  const answer = await deps.send(delivery, deps.now());
  const now = deps.now();
  const { attempts, webhook } = delivery;
  const verdict = decideAttempt({
    answer,
    attempts,
    failingSince: webhook.failingSince,
    now,
    windowMs: deps.windowMs,
    jitter: deps.jitter(),
  });
  return save(deps, delivery, verdict, now);
}

async function save(
  deps: DeliverWebhookDeps,
  delivery: LoadedDelivery,
  outcome: DeliveryOutcome,
  now: Date,
): Promise<JobResult> {
  // Somebody else saved first: what he wrote says how it goes on.
  if (!(await deps.save(delivery, outcome, now))) return done;
  switch (outcome.kind) {
    case 'delivered':
    case 'again':
      return done;
    case 'failed':
      return { kind: 'over', reason: inWords(outcome) };
    case 'ended':
      return { kind: 'over', reason: outcome.problem };
  }
}

function endOf({ webhook }: LoadedDelivery): DeliveryOutcome | null {
  if (webhook.deletedAt !== null) return { kind: 'ended', problem: 'webhook_deleted' };
  return webhook.disabledAt === null ? null : { kind: 'ended', problem: 'webhook_disabled' };
}

function afterTheCrowd({ now, jitter }: DeliverWebhookDeps): Date {
  const waitMs = CROWDED_WAIT_MS.least + CROWDED_WAIT_MS.spread * jitter();
  return new Date(now().getTime() + Math.round(waitMs));
}

function inWords({ problem, httpStatus }: Exclude<Verdict, { kind: 'delivered' }>): string {
  return httpStatus === null ? problem : `${problem} (${httpStatus})`;
}
