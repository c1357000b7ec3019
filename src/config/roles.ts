import { type Role, roleNames } from '../core/operations/roles.ts';
import type { Config } from './config.ts';

/** With an external edge, the edge role is omitted. */
export function rolesOf({
  role,
  certificates,
}: Pick<Config, 'role' | 'certificates'>): readonly Role[] {
  const played: readonly Role[] = role === 'all' ? roleNames : [role];
  return played.filter((one) => one !== 'edge' || certificates.source === 'own');
}
