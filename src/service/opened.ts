import type { Logger } from 'pino';
import type { DerivedSecrets } from '../certificates/vault/derived-secrets.ts';
import type { Vault } from '../certificates/vault/vault.ts';
import type { Config } from '../config/config.ts';
import type { Database } from '../db/engine/client.ts';
import { beforeDeadline } from '../net/deadline.ts';
import type { Metrics } from '../ops/metrics/metrics.ts';
import type { QueueBackend } from '../queue/backend.ts';

/** Tests replace it. */
export type Clock = () => Date;

/** Opened before the service is built, which closes none of it. */
export type Opened = {
  readonly config: Config;
  readonly database: Database;
  readonly backend: QueueBackend;
  readonly vault: Vault;
  readonly secrets: DerivedSecrets;
  readonly log: Logger;
  readonly now: Clock;
  /** Missing if metrics are off. */
  readonly metrics?: Metrics;
};

export type Closing = (deadlineMs: number) => Promise<void>;

/** Added to the deadline for each closing, so that one that hangs cannot block the stop. */
const CLOSE_GRACE_MS = 5_000;

/** In reverse order, within one deadline. Tries all, then rejects with the first error. */
export async function closeAll(closings: readonly Closing[], deadlineMs: number): Promise<void> {
  const end = Date.now() + deadlineMs;
  const faults: unknown[] = [];
  for (const closing of closings.toReversed()) {
    const leftMs = Math.max(0, end - Date.now());
    const closed = closing(leftMs).catch((fault) => faults.push(fault));
    await beforeDeadline(leftMs + CLOSE_GRACE_MS, closed, null);
  }
  if (faults.length > 0) throw faults[0];
}
