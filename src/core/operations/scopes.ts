/** Permissions of an API key, as the API spells them. `admin` implies all others. */
export const scopes = [
  'pets:read',
  'pets:write',
  'domains:read',
  'domains:write',
  'projects:write',
  'keys:read',
  'keys:write',
  'ops:read',
  'admin',
] as const;
export type Scope = (typeof scopes)[number];

/** Those that an account's key can have. The others reach what belongs to the installation. */
export const accountScopes = [
  'domains:read',
  'domains:write',
  'projects:write',
  'keys:read',
  'keys:write',
] as const satisfies readonly Scope[];

export function isAccountScope(scope: string): boolean {
  return accountScopes.some((one) => one === scope);
}

/** `projects:write` was added later, so installation keys with `domains:write` have it too. */
export function withImplied<Own extends string>(
  ofInstallation: readonly Own[],
): readonly (Own | 'projects:write')[] {
  const has = (scope: Scope) => ofInstallation.some((own) => own === scope);
  const isImplied = has('domains:write') && !has('projects:write');
  return isImplied ? [...ofInstallation, 'projects:write'] : ofInstallation;
}
