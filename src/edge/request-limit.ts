/** How many requests may be under way to deploys at once, altogether and for one project: each has a connection of its own. */
import { createKeyedCount } from '../net/keyed-count.ts';

/** The limits of one process: of all projects together, and of each. */
export type RequestLimitRules = {
  readonly total: number;
  readonly perProject: number;
};

/** Counts the requests that are under way. */
export type RequestLimit = {
  /** Counts a request in, and returns what counts it out, once however often it is called; else which limit is reached. */
  readonly admit: (projectId: string) => (() => void) | 'project' | 'total';
};

/** The count of one process. A project's own limit is said before the one of all. */
export function createRequestLimit({ total, perProject }: RequestLimitRules): RequestLimit {
  const requests = createKeyedCount({ total, perKey: perProject });
  return {
    admit(projectId) {
      const admitted = requests.admit(projectId);
      return admitted === 'key' ? 'project' : admitted;
    },
  };
}
