import type { Access } from '../../core/access.ts';
import type { ShownAuditEntry } from '../../db/audit.ts';
import type { Service } from '../../service/service.ts';
import { cursorAfter } from '../pipeline/cursor.ts';
import { pageAnswer } from '../pipeline/paging.ts';
import { type Route, route, success } from '../pipeline/route.ts';
import { auditExample, auditList, auditQuery } from '../schemas/audit.ts';

/** What the log has beside the API's operations. */
const others: Readonly<Record<string, string>> = {
  signIn: 'Sign in to the dashboard',
  signOut: 'Sign out of the dashboard',
  setConfiguredKey: 'Set API_KEY',
  createFirstKey: 'Create the first key',
};

/** `routes`: those whose requests it shows. */
export function auditRoute({ audit }: Service, routes: readonly Route[]): Route {
  const summaries = new Map([
    ...Object.entries(others),
    ...routes.map(({ operationId, summary }) => [operationId, summary] as const),
  ]);
  return route({
    tag: 'Keys',
    stability: 'stable',
    at: 'GET /v1/audit',
    scope: 'keys:read',
    operationId: 'listAudit',
    summary: 'Show who did what',
    description:
      "Lists changes, sign-ins, reads of a signing secret and requests that lacked rights, newest first. Each entry is written in the transaction of its change. With an account's key, what was done in this account; a project that moves leaves its entries behind. Entries are kept for 400 days. Pets are not in it.",
    query: auditQuery,
    success: success(200, 'A page of entries', auditList, [auditExample]),
    handle: async ({ access, query: { limit, cursor = null, ...filters } }) => {
      const page = await audit.list(access, filters, { after: cursor, limit });
      return pageAnswer(page, cursorAfter, (row) => entryView(row, access, summaries));
    },
  });
}

function entryView(entry: ShownAuditEntry, access: Access, summaries: ReadonlyMap<string, string>) {
  const { keyId, keyName, keyAccountId, sessionId, address, ...done } = entry;
  const kind = keyId === null ? 'signpost' : keyAccountId === null ? 'operator' : 'key';
  const isHidden = kind === 'operator' && access.kind === 'account';
  const shown = { keyId, keyName, sessionId, address };
  return {
    ...done,
    requestId: isHidden ? null : done.requestId,
    summary: summaries.get(done.operation) ?? done.operation,
    actor: isHidden
      ? { kind, keyId: null, keyName: null, sessionId: null, address: null }
      : { kind, ...shown },
  };
}
