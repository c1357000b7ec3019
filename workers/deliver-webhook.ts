/**
 * pending → delivered, or the next attempt; failed after the last one, after a 410, or if the
 * webhook is deleted or disabled.
 * Woken by: the relay, for each attempt; no job waits in the queue for a later attempt.
 * Reads: the delivery with its webhook and its event.
 * Writes: the result of the attempt; disables a failing webhook.
 * May run twice: the receiver gets the same webhook-id again, and the save succeeds only for the
 * attempt that was loaded.
 */
import {
  type DeliveryDecision,
  decideAttempt,
  type WebhookResponse,
} from '../src/core/operations/webhook-plan.ts';
import type { DeliveryOutcome, LoadedDelivery } from '../src/db/delivery/deliveries.ts';
import { done, type JobResult } from './running/job.ts';

export type DeliverWebhookDeps = {
  load(deliveryId: string): Promise<LoadedDelivery | null>;
  /** A slot of the receiver and one of the project, or none: null. Returns the release function. */
  enterLines(delivery: LoadedDelivery): (() => void) | null;
  /** Returns network and receiver failures; never throws them. */
  send(delivery: LoadedDelivery, at: Date): Promise<WebhookResponse>;
  /** Without counting an attempt. */
  putBack(delivery: LoadedDelivery, until: Date): Promise<void>;
  /** False if another save came first and nothing was changed. */
  save(delivery: LoadedDelivery, outcome: DeliveryOutcome, at: Date): Promise<boolean>;
  readonly timeScale: number;
  /** 0 to 1, new at each call. */
  jitter(): number;
  now(): Date;
};

/** Without a slot: short, but longer than the queue takes to forget this job. */
const CROWDED_WAIT_MS = { least: 1_000, spread: 500 } as const;

/** Does nothing if the delivery is no longer queued. Each attempt is a new job. */
export async function deliverWebhook(
  deps: DeliverWebhookDeps,
  { deliveryId }: { readonly deliveryId: string },
): Promise<JobResult> {
  const delivery = await deps.load(deliveryId);
  if (delivery === null || delivery.status !== 'pending') return done;
  // Another run of this job was faster, and the row waits for its next attempt.
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
    timeScale: deps.timeScale,
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
  // Another save came first and decides what happens next.
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

function inWords({
  problem,
  httpStatus,
}: Exclude<DeliveryDecision, { kind: 'delivered' }>): string {
  return httpStatus === null ? problem : `${problem} (${httpStatus})`;
}
