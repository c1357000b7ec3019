/** Permissions of an API key, as the API spells them. `admin` implies all others. */
export const scopes = [
  'pets:read',
  'pets:write',
  'domains:read',
  'domains:write',
  'ops:read',
  'admin',
] as const;
export type Scope = (typeof scopes)[number];
