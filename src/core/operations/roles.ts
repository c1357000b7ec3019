/** `ROLE=all` is every role in one process. */
export const roleNames = ['api', 'worker', 'edge'] as const;
export type Role = (typeof roleNames)[number];
