/** Limits concurrent requests to deploys. Each uses its own connection. */
import { createKeyedCount } from '../net/keyed-count.ts';

export type RequestLimitRules = {
  readonly total: number;
  readonly perProject: number;
};

export type RequestLimit = {
  /** Returns an idempotent release function, or the limit that is reached. */
  readonly admit: (projectId: string) => (() => void) | 'project' | 'total';
};

/** Counts for one process. Checks the project's limit first. */
export function createRequestLimit({ total, perProject }: RequestLimitRules): RequestLimit {
  const requests = createKeyedCount({ total, perKey: perProject });
  return {
    admit(projectId) {
      const admitted = requests.admit(projectId);
      return admitted === 'key' ? 'project' : admitted;
    },
  };
}
