/** Paths of operators' pages, and of what they ask the API for. */

export function watchedPath(domainId: string): string {
  return `/ops/domains/${encodeURIComponent(domainId)}`;
}

export function operationsPath(domainId: string): string {
  return `/v1/operations/domains/${encodeURIComponent(domainId)}`;
}

export const operationsCrumb = { text: 'Operations', path: '/ops' } as const;
