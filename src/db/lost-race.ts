/** Which faults say that two transactions were in each other's way, and that this one was undone for it. */

/** Whether trying again may succeed: a deadlock, or a conflict of serializable transactions. PostgreSQL, appendix A. */
export function isLostRace(fault: unknown): boolean {
  const code: unknown = typeof fault === 'object' && fault !== null && Reflect.get(fault, 'code');
  return code === '40P01' || code === '40001';
}
