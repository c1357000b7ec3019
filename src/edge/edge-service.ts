import type { Logger } from 'pino';
import type { Service } from '../service/service.ts';

export type EdgeLog = Pick<Logger, 'debug' | 'warn' | 'error'>;

/** Methods of `lookups` reject while the database is down, except for probes. */
export type EdgeService = Pick<
  Service,
  | 'config'
  | 'database'
  | 'lookups'
  | 'metrics'
  | 'now'
  | 'ownAddresses'
  | 'ownListeners'
  | 'secrets'
  | 'signingKey'
  | 'vault'
> & { readonly log: EdgeLog };
