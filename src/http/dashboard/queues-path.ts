/** Where the queues are looked into, below the base path. */
export const QUEUES = '/ops/queues';

export function isQueuesPath(path: string): boolean {
  return path === QUEUES || path.startsWith(`${QUEUES}/`);
}
