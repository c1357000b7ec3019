import { z } from 'zod';
import { idOfCursor } from '../pipeline/cursor.ts';
import { int64, text, time, wholeNumber } from '../pipeline/json.ts';
import { cursorOf, limitOf } from '../pipeline/paging.ts';
import { component } from './common.ts';

const actor = component('AuditActor', 'Who acted', {
  kind: z
    .enum(['key', 'operator', 'signpost'])
    .describe(
      '`key`: a key of the account. `operator`: a key of the installation. `signpost`: the process itself, as it was configured',
    ),
  keyId: z
    .nullable(z.string())
    .describe("ID of the key. An account's keys see null for an operator"),
  keyName: z.nullable(z.string()).describe('Label of the key'),
  sessionId: z
    .nullable(z.uuid())
    .describe('ID of the dashboard session; null if the key itself was sent'),
  address: z.nullable(z.string()).describe("The client's address"),
});

export const auditEntry = component('AuditEntry', 'An action, and who did it', {
  id: int64().describe('ID of the entry'),
  at: time().describe('When it was done; the first time if it was repeated'),
  lastAt: time().describe('When it was done the last time'),
  count: wholeNumber({ min: 1, max: 2_147_483_647 }).describe(
    'How often it was done; the same by the same actor within an hour is one entry',
  ),
  actor,
  operation: z
    .string()
    .describe(
      '`operationId` of the API, or `signIn`, `signOut`, `setConfiguredKey` and `createFirstKey`',
    ),
  summary: z.string().describe('What the operation does, for people'),
  object: z.string().describe('Path of what was changed in the API'),
  fields: z.array(z.string()).describe("Names of the request's fields, without their values"),
  accountId: z.nullable(z.uuid()).describe('Account at that time; null: the installation'),
  projectId: z.nullable(z.uuid()).describe('Project; null if none'),
  status: z
    .nullable(wholeNumber({ min: 100, max: 599 }))
    .describe('HTTP status; null: it has started and not finished'),
  code: z.nullable(z.string()).describe('Error code if it was refused'),
  requestId: z.nullable(z.string()).describe('X-Request-Id of the first request'),
});

/** `cursor` is parsed to the position that the page starts after. */
export const auditQuery = z.strictObject({
  limit: limitOf('entries'),
  cursor: cursorOf(idOfCursor),
  projectId: z.uuid().optional().describe('Filter by project'),
  keyId: text({ max: 64 }).optional().describe('Filter by the key that acted'),
  operation: text({ max: 64 }).optional().describe('Filter by operation'),
  object: text({ max: 1_000 }).optional().describe('Filter by the exact path of what was changed'),
  since: moment('Only entries from this time on'),
  until: moment('Only entries before this time'),
});

function moment(description: string) {
  return z.iso
    .datetime({ offset: true, error: 'must be a time such as 2026-11-20T12:00:00Z' })
    .transform((given) => new Date(given))
    .refine((at) => at.getUTCFullYear() > 0 && at.getUTCFullYear() < 10_000, 'is too far away')
    .optional()
    .describe(description);
}

export const auditList = z
  .array(auditEntry)
  .meta({ id: 'AuditEntries', description: 'Entries of the audit log, newest first' });

export const auditExample = {
  id: 4711,
  at: '2026-11-20T12:00:00.000Z',
  lastAt: '2026-11-20T12:00:00.000Z',
  count: 1,
  actor: {
    kind: 'key',
    keyId: 'x7Gk2mPq9LwZ',
    keyName: 'the shop’s back office',
    sessionId: '0198c1f5-4d2b-4b8e-9a6f-3e7d1c5b9f20',
    address: '192.0.2.17',
  },
  operation: 'updateProject',
  summary: 'Change a project',
  object: '/v1/projects/0198c1f2-7c3e-4c55-9a54-0b8d5a6f1c11',
  fields: ['plan'],
  accountId: '0198c1f0-2b1c-4d7e-8a3f-6c5d4e3f2a10',
  projectId: '0198c1f2-7c3e-4c55-9a54-0b8d5a6f1c11',
  status: 200,
  code: null,
  requestId: '3f1c0c6e-7d1a-4a55-8d0e-4a3b2c1d0e9f',
} as const;
