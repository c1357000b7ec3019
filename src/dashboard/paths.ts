/** Where the pages of a project begin: `/projects/…`. */
export function projectPath(projectId: string): string {
  return `/projects/${encodeURIComponent(projectId)}`;
}

/** The page of a domain, whose own pages are below it. */
export function domainPath(projectId: string, hostname: string): string {
  return `${projectPath(projectId)}/domains/${encodeURIComponent(hostname)}`;
}

/** The same path in the API, which has projects and domains at the same places. */
export function apiPath(path: string): string {
  return `/v1${path}`;
}

/** Where the queues are looked into, below the base path. */
export const QUEUES = '/ops/queues';

/** Whether a path is the board's page or below it. `path`: without the base path and the query. */
export function isQueuesPath(path: string): boolean {
  return path === QUEUES || path.startsWith(`${QUEUES}/`);
}
