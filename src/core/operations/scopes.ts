/** Permissions of an API key, as the API spells them. `admin` implies all others. */
export const scopes = [
  'pets:read',
  'pets:write',
  'domains:read',
  'domains:write',
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
  'keys:read',
  'keys:write',
] as const satisfies readonly Scope[];

export function isAccountScope(scope: string): boolean {
  return accountScopes.some((one) => one === scope);
}
