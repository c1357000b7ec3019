/** Which roles a process plays. */
import type { Config } from '../config.ts';
import type { Role } from './metrics/process.ts';

/** No edge of ours starts where another one serves the domains. */
export function rolesOf({ role, certificates }: Config): readonly Role[] {
  const played: readonly Role[] = role === 'all' ? ['api', 'worker', 'edge'] : [role];
  return played.filter((one) => one !== 'edge' || certificates.source === 'own');
}
