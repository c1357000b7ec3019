/** The audit log, as schemas: they validate the query, and the OpenAPI document is made from them. */
import { z } from 'zod';
import { type AuditedKind, type AuditOutcome, auditedKinds } from '../../core/operations/audit.ts';
import { placeIn } from '../pipeline/cursor.ts';
import { queryInteger, text, time, uuid, wireTypes } from '../pipeline/json.ts';
import { explainedEnum } from './common.ts';
import { docsProject } from './projects.ts';

/** One entry. It names things; what was in them before or after is nowhere in it. */
const auditEntry = z
  .object({
    id: uuid(),
    at: time(),
    actor: explainedEnum('AuditActor', 'Whose key did it', {
      account: 'A key of the account',
      installation: 'The installation: an operator, or the backend of the platform',
    }),
    keyId: z.nullable(z.string()).meta({
      description: 'The key; null where the installation did it and a key of an account asks',
    }),
    sessionId: z.nullable(z.string()).meta({
      description: 'The session of the dashboard; null where it was none',
    }),
    accountId: z.nullable(uuid()).meta({ description: 'Whose the object is; null: nobody’s' }),
    projectId: z.nullable(uuid()),
    operationId: z.string().meta({
      description:
        'What was done: an operation of this document; or `rotateKeys`, `queues:…`, `signIn`, `signOut`, `signOutEverywhere`, `chooseAccount`',
    }),
    object: z.object({
      kind: explainedEnum(
        'AuditedKind',
        'What it was done to',
        auditedKinds satisfies Readonly<Record<AuditedKind, string>>,
      ),
      id: z.nullable(z.string()).meta({ description: 'Null where it was refused' }),
    }),
    outcome: explainedEnum('AuditOutcome', 'What came of it', {
      done: 'It was done',
      refused: 'The key may not do it, and nothing was changed',
      failed: 'A fault; of what lies outside of the database, a part may have been changed',
      unknown: 'It was begun outside of the database, and the process ended meanwhile',
    } satisfies Readonly<Record<AuditOutcome, string>>),
    code: z.nullable(z.string()).meta({ description: 'The error code where it was not done' }),
    address: z.nullable(z.string()).meta({ description: 'Of the client; null as `keyId` is' }),
    userAgent: z.nullable(z.string()).meta({ description: 'Its first 200 characters' }),
    requestId: z.nullable(z.string()).meta({ description: 'The `X-Request-Id` of the answer' }),
  })
  .meta({ id: 'AuditEntry', description: 'Who did what, when and from where' });

/** Answer of `GET /v1/audit`: one page. */
export const auditList = z
  .array(auditEntry)
  .meta({ id: 'AuditEntries', description: 'The newest first' });

/** RFC 3339 with any offset, as a Date that PostgreSQL and RFC 3339 can say. */
const moment = z.iso
  .datetime({ offset: true, error: 'must be a time in RFC 3339, such as 2026-11-20T12:00:00Z' })
  .transform((value) => new Date(value))
  .refine((value) => value.getTime() >= 0 && value.getUTCFullYear() <= 9_999, 'must be after 1970')
  .register(wireTypes, { type: 'string', format: 'date-time' });

/** Query of `GET /v1/audit`. `cursor` is parsed to the place that the page starts after, times to Dates; `limit` is a number. */
export const auditQuery = z.strictObject({
  limit: queryInteger({ min: 1, max: 100, default: 20 }).meta({
    description: 'Maximum number of entries returned',
  }),
  keyId: text({ max: 64 }).optional().meta({ description: 'Only what this key did' }),
  projectId: uuid().optional().meta({ description: 'Only what was done in this project' }),
  operationId: text({ max: 200 }).optional().meta({ description: 'Only this operation' }),
  from: moment.optional().meta({ description: 'Only from this time on' }),
  to: moment.optional().meta({ description: 'Only before this time' }),
  cursor: z
    .string()
    .transform(placeIn)
    .refine((place) => place !== null, 'must be one that a page of the audit log linked to')
    .optional()
    .meta({ description: 'Where the page starts: taken from a `Link`, never made by hand' }),
});

/** The example of the OpenAPI document. */
export const docsAuditEntry = {
  id: '0198c1f2-a2c4-4b7e-9d10-3c5e7f9a1b2d',
  at: '2026-11-20T12:30:00.000Z',
  actor: 'account',
  keyId: 'x7Gk2mPq9LwZ',
  sessionId: null,
  accountId: docsProject.accountId,
  projectId: docsProject.id,
  operationId: 'addDomain',
  object: { kind: 'domain', id: 'docs.example.com' },
  outcome: 'done',
  code: null,
  address: '192.0.2.10',
  userAgent: 'curl/8.14.1',
  requestId: '5f1d7e84-3a1c-4f0e-9a1b-0c6f5d2e7b33',
};
