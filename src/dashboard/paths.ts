/** Paths of pages, and of what they ask the API for. */
export function projectPath(projectId: string): string {
  return `/projects/${encodeURIComponent(projectId)}`;
}

export function domainPath(projectId: string, hostname: string): string {
  return `${projectPath(projectId)}/domains/${encodeURIComponent(hostname)}`;
}

/** The same below the API's base path. */
export function apiPath(path: string): string {
  return `/v1${path}`;
}

/** Where the queues are looked into, below the base path. */
export const QUEUES = '/ops/queues';

export function isQueuesPath(path: string): boolean {
  return path === QUEUES || path.startsWith(`${QUEUES}/`);
}
