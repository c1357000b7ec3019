/** How many requests may be under way to deploys at once, altogether and for one project: each has a connection of its own. */

export type RequestLimitRules = {
  readonly total: number;
  readonly perProject: number;
};

export type RequestLimit = {
  /** Counts a request in, and returns what counts it out, once however often it is called; else which limit is reached. */
  readonly admit: (projectId: string) => (() => void) | 'project' | 'total';
};

export function createRequestLimit({ total, perProject }: RequestLimitRules): RequestLimit {
  const underWay = new Map<string, number>();
  let all = 0;

  function leave(projectId: string): void {
    all -= 1;
    const left = (underWay.get(projectId) ?? 1) - 1;
    if (left === 0) underWay.delete(projectId);
    else underWay.set(projectId, left);
  }

  return {
    admit(projectId) {
      const before = underWay.get(projectId) ?? 0;
      if (before >= perProject) return 'project';
      if (all >= total) return 'total';
      all += 1;
      underWay.set(projectId, before + 1);
      let hasLeft = false;
      return () => {
        if (hasLeft) return;
        hasLeft = true;
        leave(projectId);
      };
    },
  };
}
