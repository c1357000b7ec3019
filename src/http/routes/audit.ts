/** The audit log, for whoever administers an account or the installation. */
import type { AuditEntry } from '../../core/operations/audit.ts';
import type { AuditQuery, AuditStore } from '../../db/audit.ts';
import { cursorAfterPlace } from '../pipeline/cursor.ts';
import type { ApiResponse } from '../pipeline/errors.ts';
import { type Route, route } from '../pipeline/route.ts';
import { auditList, auditQuery, docsAuditEntry } from '../schemas/audit.ts';

/** What the operation calls. */
export type AuditRoutesDeps = Pick<AuditStore, 'list'>;

/** Listing the log: an account sees its own entries, the installation all. */
export function auditRoutes({ list }: AuditRoutesDeps): readonly Route[] {
  const listAudit = route({
    method: 'GET',
    path: '/v1/audit',
    scope: 'admin',
    operationId: 'listAudit',
    tag: 'Audit',
    stability: 'beta',
    summary: 'List what was changed',
    description:
      'Who changed what, when and from where, the newest first; kept for 400 days. Every change has an entry from the moment on in which it counts, but for new animals; so has whoever was shown a signing secret, and a key that was refused what it may not do. A key of an account sees what was done in its account, and of the installation only that it was the installation.',
    query: auditQuery,
    success: {
      status: 200,
      description: 'A page of entries',
      schema: auditList,
      example: [docsAuditEntry],
      headers: { link: 'Where more entries follow: the next page, as `rel="next"`' },
    },
    handle: ({ key, query: { cursor, ...asked } }) => {
      const { keyId = null, projectId = null, operationId = null, from = null, to = null } = asked;
      // The installation sees itself also where it acts for an account.
      const hidesOperators = key.access.kind === 'account' && key.actsFor !== true;
      const filter = { keyId, projectId, operationId, from, to, hidesOperators };
      const query = { ...filter, limit: asked.limit, after: cursor ?? null };
      return page((one) => list(key.access, one), query);
    },
  });
  return [listAudit];
}

/** A page of the log, with a link to the next one where there is one. */
async function page(
  list: (query: AuditQuery) => Promise<readonly AuditEntry[]>,
  query: AuditQuery,
): Promise<ApiResponse> {
  const { limit } = query;
  // One more than asked for: it says whether there is a next page.
  const found = await list({ ...query, limit: limit + 1 });
  const shown = found.slice(0, limit);
  const body = shown.map(entryView);
  const last = shown.at(-1);
  if (found.length <= limit || last === undefined) return { status: 200, body };
  const target = new URLSearchParams(parametersOf(query));
  target.set('cursor', cursorAfterPlace(last));
  return { status: 200, body, headers: { link: `</v1/audit?${target}>; rel="next"` } };
}

/** The next page has the same filters and length. */
function parametersOf({ limit, keyId, projectId, operationId, from, to }: AuditQuery) {
  return {
    limit: String(limit),
    ...(keyId !== null && { keyId }),
    ...(projectId !== null && { projectId }),
    ...(operationId !== null && { operationId }),
    ...(from !== null && { from: from.toISOString() }),
    ...(to !== null && { to: to.toISOString() }),
  };
}

/** The AuditEntry of docs/api.md. */
function entryView({ byInstallation, objectKind, objectId, ...entry }: AuditEntry) {
  return {
    id: entry.id,
    at: entry.at,
    actor: byInstallation ? 'installation' : 'account',
    keyId: entry.keyId,
    sessionId: entry.sessionId,
    accountId: entry.accountId,
    projectId: entry.projectId,
    operationId: entry.operationId,
    object: { kind: objectKind, id: objectId },
    outcome: entry.outcome,
    code: entry.code,
    address: entry.address,
    userAgent: entry.userAgent,
    requestId: entry.requestId,
  };
}
