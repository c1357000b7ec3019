import type { Logger } from 'pino';
import type { DerivedSecrets } from '../certificates/vault/derived-secrets.ts';
import type { Vault } from '../certificates/vault/vault.ts';
import type { Config } from '../config/config.ts';
import type { Database } from '../db/engine/client.ts';
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
