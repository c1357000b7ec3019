/**
 * pending → delivered, or the next attempt; failed after the last one, at a 410, or with its webhook.
 * Woken by: the relay, for each attempt again: no job waits in the queue for its time, or for a place in a line.
 * Reads: the delivery with its webhook and its event. Writes: what came of the attempt; a webhook that is given up.
 * May run twice: the receiver gets the same webhook-id again, and the save holds only for the attempt that was loaded.
 */
import { type Answer, decideAttempt, type Verdict } from '../src/core/operations/webhook-plan.ts';
import type { DeliveryOutcome, LoadedDelivery } from '../src/db/delivery/deliveries.ts';
import { done, type JobResult } from './running/job.ts';

/** What an attempt needs of the process that it runs in. */
export type DeliverWebhookDeps = {
  /** Null where there is no such delivery. */
  load(deliveryId: string): Promise<LoadedDelivery | null>;
  /**
   * Takes a place in the lines of the receiver, of the project and of its account; the function that it resolves with gives
   * them back. Null where one of them is full: then none is taken.
   */
  enterLines(delivery: LoadedDelivery): Promise<(() => void) | null>;
  /** Makes the attempt. Whatever the receiver or the network does is an answer. */
  send(delivery: LoadedDelivery, at: Date): Promise<Answer>;
  /** Has the delivery wait until then, without an attempt counted. */
  putBack(delivery: LoadedDelivery, until: Date): Promise<void>;
  /** False where somebody saved first: then nothing was changed. */
  save(delivery: LoadedDelivery, outcome: DeliveryOutcome, at: Date): Promise<boolean>;
  /** A laboratory's short window shortens the waits between attempts. */
  readonly windowMs: number;
  /** 0 to 1, drawn again by each call. */
  jitter(): number;
  now(): Date;
};

/**
 * An attempt only waits for its receiver, 10 s at most, with a socket and some kilobytes; what it asks of the database
 * takes milliseconds. One account never has more than half of them (src/roles/webhooks.ts). Our choice.
 */
export const DELIVERIES_AT_ONCE = 200;

/**
 * The wait of a delivery without a place: soon enough not to be missed, and later than the queue takes to forget this
 * job. Our choice.
 */
const CROWDED_WAIT_MS = { least: 1_000, spread: 500 } as const;

/**
 * Tries a delivery once. Does nothing where it is no longer pending, or not this job's turn. The job is never put off:
 * the relay makes a new one for each attempt.
 */
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
  const leave = await deps.enterLines(delivery);
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
  // Somebody else saved first: what they wrote says how it goes on.
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
