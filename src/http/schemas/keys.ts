/** Keys as schemas: they validate, and the OpenAPI document is made from them. */
import { z } from 'zod';
import { int64, text, time, wholeNumber, wireTypes } from '../pipeline/json.ts';
import { pageFields } from '../pipeline/page.ts';
import type { Scope } from '../pipeline/route.ts';
import { inTheseWords } from '../pipeline/validate.ts';
import { accountId } from './accounts.ts';
import { explainedEnum } from './common.ts';
import { projectId } from './projects.ts';

const DEFAULT_GRACE_SECONDS = 86_400; // a day: long enough to change the key wherever it is used
const PROJECTS_MAX = 100; // our choice: for more, a key of the whole account
const MAX_GRACE_SECONDS = 2_592_000; // 30 days: our choice, a key that is to go must not stay by default

/** Exactly the scopes of src/http/pipeline/route.ts. */
const scope = explainedEnum('Scope', 'What a key may do', {
  'pets:read': 'List and show animals',
  'pets:write': 'Add animals',
  'domains:read': 'Show projects, their domains and what happened to these',
  'domains:write': 'Change projects, deploys and domains',
  'ops:read': 'What operators see: the overview, domains of every project, escalations',
  admin: 'Everything, keys among it',
} satisfies Readonly<Record<Scope, string>>);

/** By the clock of the service, when the answer is made. */
const status = explainedEnum('KeyStatus', 'Whether a key is accepted', {
  active: 'It is accepted',
  expired: 'It ended at `expiresAt`',
  revoked: 'It was ended at `revokedAt`',
});

const name = text({ max: 255 }).meta({ description: 'What the key is for, for people' });

const scopeList = z
  .array(scope, { error: inTheseWords('must be a list') })
  .min(1, 'must name at least one scope')
  .refine((list) => new Set(list).size === list.length, 'must not name a scope twice')
  .meta({ description: 'What the key may do', uniqueItems: true });

/** RFC 3339 with any offset, as a Date. Whether it lies ahead depends on the clock. */
const moment = z.iso
  .datetime({ offset: true, error: inTheseWords('must be a time such as 2027-01-01T00:00:00Z') })
  .transform((value) => new Date(value))
  .register(wireTypes, { type: 'string', format: 'date-time' });

/** Body of `POST /v1/keys`; `expiresAt` becomes a Date. Whether it lies ahead is checked by the handler. */
export const newKey = z
  .strictObject({
    name,
    scopes: scopeList,
    accountId: accountId.optional().meta({
      description:
        'The account that it is of; missing: that of the key that asks or of `Signpost-Account`, or else the installation',
    }),
    projectIds: z.array(projectId).max(PROJECTS_MAX).optional().meta({
      description: 'The projects of the account that it is for; missing or empty: all of them',
    }),
    expiresAt: moment.optional().meta({
      description: 'When it ends by itself: in the future, and within 100 years. Missing: never',
    }),
  })
  .meta({ id: 'NewKey', description: 'A key to be made' });

/** Seconds; 0 ends the old key at once. */
const grace = { min: 0, max: MAX_GRACE_SECONDS } as const;

/** Body of `POST /v1/keys/{keyId}/rotate`; without one, the grace is a day. `graceSeconds` is a number. */
export const rotation = z
  .strictObject({
    graceSeconds: wholeNumber(grace)
      .default(DEFAULT_GRACE_SECONDS)
      .register(wireTypes, {
        type: 'integer',
        minimum: grace.min,
        maximum: grace.max,
        default: DEFAULT_GRACE_SECONDS,
      })
      .meta({ description: 'How long the old key works beside the new one' }),
  })
  .meta({ id: 'KeyRotation', description: 'How a key is to be replaced' });

/** Counted by the key's calls; a process that was killed may have lost the last seconds of it. */
const deprecatedUse = z
  .object({
    operationId: z.string().meta({ description: 'The deprecated operation' }),
    count: int64().meta({ description: 'How often the key called it' }),
    lastUsedAt: time().meta({ description: 'When it did so last' }),
  })
  .meta({ id: 'DeprecatedUse', description: 'Calls of an operation that will be removed' });

/** The fields of a key that may be shown. */
const shown = {
  id: z.string().meta({ description: 'ID of the key' }),
  prefix: z
    .nullable(z.string())
    .meta({ description: 'What the key begins with; null for `API_KEY`, which an operator chose' }),
  name,
  accountId: z
    .nullable(accountId)
    .meta({ description: 'The account that it is of; null: the installation' }),
  projectIds: z
    .array(projectId)
    .meta({ description: 'The projects that it is for; empty: all that the account has' }),
  scopes: z.array(scope).meta({ description: 'What the key may do' }),
  status,
  createdAt: time().meta({ description: 'When it was made' }),
  expiresAt: z.nullable(time()).meta({ description: 'When it ends by itself; null: never' }),
  revokedAt: z.nullable(time()).meta({ description: 'When it was revoked; null: it was not' }),
  lastUsedAt: z
    .nullable(time())
    .meta({ description: 'When it was last used, a minute late at most; null: never' }),
  successorId: z
    .nullable(z.string())
    .meta({ description: 'ID of the key that replaces it; null: it was not rotated' }),
  deprecatedUses: z
    .array(deprecatedUse)
    .meta({ description: 'Its calls of deprecated operations, in the order of their names' }),
};

/** Answer about one key. */
export const key = z.object(shown).meta({ id: 'Key', description: 'An API key without its token' });

/** Whether a text can be a key's id: letters and digits alone. PostgreSQL would refuse a text with NUL by a fault. */
export function isKeyId(text: string): boolean {
  return /^[0-9A-Za-z]+$/.test(text);
}

/** Query of `GET /v1/keys`. */
export const keyQuery = z.strictObject(pageFields('keys', isKeyId));

/** Answer of `GET /v1/keys`, those that have ended among them. */
export const keyList = z.array(key).meta({ id: 'Keys', description: 'Keys, oldest first' });

/** Answer of making and of rotating a key: the only ones that have a token. */
export const mintedKey = z
  .object({
    ...shown,
    key: z.nullable(z.string()).meta({
      description: 'The token, shown only now; null where the answer is replayed',
    }),
  })
  .meta({ id: 'MintedKey', description: 'A new API key with its token' });

/** The example of a Key in the OpenAPI document. */
export const keyExample = {
  id: 'x7Gk2mPq9LwZ',
  prefix: 'signpost_x7Gk2mPq9LwZ',
  name: 'the shop’s back office',
  accountId: null,
  projectIds: [],
  scopes: ['pets:read', 'pets:write'],
  status: 'active',
  createdAt: '2026-11-20T12:00:00.000Z',
  expiresAt: '2027-02-18T12:00:00.000Z',
  revokedAt: null,
  lastUsedAt: '2026-11-21T08:30:12.345Z',
  successorId: null,
  deprecatedUses: [{ operationId: 'getPet', count: 12n, lastUsedAt: '2026-11-21T08:30:12.345Z' }],
} as const;

/** The same key as it was made. The token's checksum is wrong, so that it can never be a key. */
export const mintedKeyExample = {
  ...keyExample,
  expiresAt: null,
  lastUsedAt: null,
  deprecatedUses: [],
  key: 'signpost_x7Gk2mPq9LwZ_00000000000000000000000000000000xxxxxx',
} as const;
