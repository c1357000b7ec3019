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
