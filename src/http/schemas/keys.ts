import { z } from 'zod';
import type { Scope } from '../../core/operations/scopes.ts';
import { textOfCursor } from '../pipeline/cursor.ts';
import { int64, text, time, wholeNumber, wireTypes } from '../pipeline/json.ts';
import { cursorOf, limitOf } from '../pipeline/paging.ts';
import { inTheseWords } from '../pipeline/validate.ts';
import { accountId, givenId } from './accounts.ts';
import { component, explainedEnum, requestComponent } from './common.ts';
import { projectId } from './projects.ts';

const DEFAULT_GRACE_SECONDS = 86_400; // one day: time to replace the key wherever it is used
const MAX_GRACE_SECONDS = 2_592_000; // 30 days: a rotated key must not keep working for long

const scope = explainedEnum('Scope', 'Permission of a key', {
  'pets:read': 'List and show pets',
  'pets:write': 'Add pets',
  'domains:read': 'Show accounts, projects, their domains and events',
  'domains:write':
    'Change domains and webhooks. A key of the installation can also change projects and deploys',
  'projects:write': 'Create, change and delete projects, report deploys, read signing secrets',
  'keys:read': "Show the account's keys, sessions and audit log; only for keys of an account",
  'keys:write':
    "Create, rotate and revoke the account's keys, with at most the own scopes; only for keys of an account",
  'ops:read': 'Operator views: the overview, domains of every project, escalations',
  admin: 'Full access, including keys',
} satisfies Readonly<Record<Scope, string>>);

/** By this server's clock at the time of the response. */
const status = explainedEnum('KeyStatus', 'Status of the key', {
  active: 'The key is accepted',
  expired: 'The key expired at `expiresAt`',
  revoked: 'The key was revoked at `revokedAt`',
});

const name = text({ max: 255 }).describe('Label of the key');

const scopeList = z
  .array(scope, { error: inTheseWords('must be a list') })
  .min(1, 'must name at least one scope')
  .refine((list) => new Set(list).size === list.length, 'must not name a scope twice')
  .meta({ description: 'Permissions of the key', uniqueItems: true });

/** A key is read with every request. */
const PROJECTS_MAX = 100;

/** RFC 3339 with any offset. The handler checks that it is in the future. */
const moment = z.iso
  .datetime({ offset: true, error: inTheseWords('must be a time such as 2027-01-01T00:00:00Z') })
  .transform((value) => new Date(value))
  .register(wireTypes, { type: 'string', format: 'date-time' });

/** The handler checks the account and its projects. */
export const newKey = requestComponent('NewKey', 'Key to create', {
  name,
  scopes: scopeList,
  accountId: givenId()
    .optional()
    .describe(
      'Account of the key, which reaches only its things and can have the scopes `domains:*`, `projects:*` and `keys:*`. Omit it for the account that you act for, or for a key of the installation',
    ),
  projectIds: z
    .array(givenId(), { error: inTheseWords('must be a list') })
    .min(1, 'must name at least one project')
    .max(PROJECTS_MAX, `must name at most ${PROJECTS_MAX} projects`)
    .refine((list) => new Set(list).size === list.length, 'must not name a project twice')
    .optional()
    .meta({
      description: 'Projects of the account that the key reaches. Omit it for all of them',
      uniqueItems: true,
    }),
  expiresAt: moment
    .optional()
    .describe(
      'Expiry of the key, within 100 years and not after the key that creates it. Omit it to expire with that key, or never',
    ),
});

/** Seconds; 0 revokes the old key at once. */
const grace = { min: 0, max: MAX_GRACE_SECONDS } as const;

/** Without a body, the grace period is one day. */
export const rotation = requestComponent('KeyRotation', 'Rotation of a key', {
  graceSeconds: wholeNumber(grace)
    .default(DEFAULT_GRACE_SECONDS)
    .register(wireTypes, {
      type: 'integer',
      minimum: grace.min,
      maximum: grace.max,
      default: DEFAULT_GRACE_SECONDS,
    })
    .describe('How long the old key keeps working, in seconds'),
});

/** A crash can lose the counts of the last seconds. */
const deprecatedUse = component('DeprecatedUse', 'Calls of a deprecated operation', {
  operationId: z.string().describe('The deprecated operation'),
  count: int64().describe('Number of calls with this key'),
  lastUsedAt: time().describe('Time of the last call'),
});

const shown = {
  id: z.string().describe('ID of the key'),
  prefix: z.nullable(z.string()).describe('First characters of the token; null for `API_KEY`'),
  name,
  scopes: z.array(scope).describe('Permissions of the key'),
  accountId: z
    .nullable(accountId)
    .describe('Account of the key; null if it belongs to the installation'),
  projectIds: z
    .nullable(z.array(projectId))
    .describe('Projects that the key reaches; null for all'),
  status,
  createdAt: time().describe('When the key was created'),
  expiresAt: z.nullable(time()).describe('When the key expires; null if never'),
  revokedAt: z.nullable(time()).describe('When the key was revoked; null if it was not'),
  lastUsedAt: z
    .nullable(time())
    .describe('When the key was last used, up to a minute behind; null if never'),
  successorId: z
    .nullable(z.string())
    .describe('ID of the key that replaces it; null if not rotated'),
  madeBy: z
    .nullable(z.string())
    .describe('ID of the key that made it, and with which it ends; null if none did'),
  deprecatedUses: z
    .array(deprecatedUse)
    .describe('Calls of deprecated operations, in alphabetical order'),
};

export const key = component('Key', 'An API key without its token', shown);

/** `cursor` is parsed to the position that the page starts after. */
export const keysQuery = z.strictObject({
  limit: limitOf('keys'),
  cursor: cursorOf(textOfCursor),
});

export const keyList = z.array(key).meta({ id: 'Keys', description: 'Keys, oldest first' });

const mintedFields = {
  ...shown,
  key: z
    .nullable(z.string())
    .describe('The token, shown only once; null if the response is replayed'),
};

/** Only creating and rotating a key return a token. */
export const mintedKey = component('MintedKey', 'New API key with its token', mintedFields);

export const rotatedKey = component('RotatedKey', 'Successor of a key, with its token', {
  ...mintedFields,
  replaces: component('ReplacedKey', 'The old key, and what its rotation extends', {
    id: z.string().describe('ID of the old key'),
    expiresAt: time().describe('When the old key and its sessions end'),
    keyIds: z
      .array(z.string())
      .describe('Keys that the old key made, which now end with the new one'),
  }),
});

export const keyExample = {
  id: 'x7Gk2mPq9LwZ',
  prefix: 'signpost_x7Gk2mPq9LwZ',
  name: 'the shop’s back office',
  scopes: ['pets:read', 'pets:write'],
  accountId: null,
  projectIds: null,
  status: 'active',
  createdAt: '2026-11-20T12:00:00.000Z',
  expiresAt: '2027-02-18T12:00:00.000Z',
  revokedAt: null,
  lastUsedAt: '2026-11-21T08:30:12.345Z',
  successorId: null,
  madeBy: null,
  deprecatedUses: [{ operationId: 'getPet', count: 12n, lastUsedAt: '2026-11-21T08:30:12.345Z' }],
} as const;

/** The token's checksum is wrong, so it can never be valid. */
export const mintedKeyExample = {
  ...keyExample,
  expiresAt: null,
  lastUsedAt: null,
  deprecatedUses: [],
  key: 'signpost_x7Gk2mPq9LwZ_00000000000000000000000000000000xxxxxx',
} as const;

export const rotatedKeyExample = {
  ...mintedKeyExample,
  replaces: { id: 'b4Rn8sTd1KvY', expiresAt: '2026-11-21T12:00:00.000Z', keyIds: ['q9Wm3xHc7JzE'] },
} as const;
