/** Sessions of the dashboard: who may manage a key sees who is signed in with it, and ends it. */
import { isUuid } from '../../core/operations/jobs.ts';
import type { SessionDetails, SessionStore } from '../../db/sessions.ts';
import { refuse } from '../pipeline/errors.ts';
import { asked, linkDocs, pageOf, placeOfMade } from '../pipeline/page.ts';
import { type Route, route } from '../pipeline/route.ts';
import { docsSession, sessionList, sessionQuery } from '../schemas/sessions.ts';

/** What the operations on sessions call. */
export type SessionRoutesDeps = {
  readonly sessions: Pick<SessionStore, 'list' | 'end'>;
  /** Has this process refuse the session at once; the others do so within 5 s. */
  readonly forget: (sessionId: string) => void;
  readonly now: () => Date;
};

const sessionsPath = '/v1/sessions';
const inCommon = { tag: 'Keys', scope: 'admin', stability: 'beta' } as const;

/** The operations on sessions. They are begun by the dashboard alone. */
export function sessionRoutes(deps: SessionRoutesDeps): readonly Route[] {
  return [listSessions(deps), endSession(deps)];
}

function listSessions({ sessions, now }: SessionRoutesDeps): Route {
  return route({
    ...inCommon,
    method: 'GET',
    path: sessionsPath,
    operationId: 'listSessions',
    summary: 'List sessions of the dashboard',
    description:
      'Who is signed in with a key that the one that asks may manage: a key of an account sees its account’s sessions. The newest first; those that have ended are not among them.',
    query: sessionQuery,
    success: {
      status: 200,
      description: 'A page of sessions',
      schema: sessionList,
      example: [docsSession],
      headers: linkDocs('sessions'),
    },
    handle: async ({ key, query }) => {
      const found = await sessions.list(key.access, now(), asked(query));
      const listed = { path: sessionsPath, limit: query.limit };
      const { rows, headers } = pageOf(found, placeOfMade, listed);
      return { status: 200, body: rows.map(sessionView), headers };
    },
  });
}

/** Idempotent. */
function endSession({ sessions, forget, now }: SessionRoutesDeps): Route {
  return route({
    ...inCommon,
    audits: 'session',
    method: 'DELETE',
    path: '/v1/sessions/:sessionId',
    operationId: 'endSession',
    summary: 'End a session of the dashboard',
    description:
      'Its cookie and every copy of it are refused everywhere within 5 seconds, and its streams of events end. Ending it again changes nothing. The key stays: revoke it where somebody else may have it. An id of no session is 404.',
    success: { status: 204, description: 'The session has ended' },
    refusals: ['session_not_found'],
    handle: async ({ key, params: { sessionId } }) => {
      const ended = isUuid(sessionId) ? await sessions.end(key.access, sessionId, now()) : null;
      if (ended === null) return refuse('session_not_found');
      return {
        status: 204,
        about: { kind: 'session', id: sessionId, accountId: ended.accountId },
        afterCommit: async () => forget(sessionId),
      };
    },
  });
}

/** The Session of docs/api.md. */
function sessionView({ apiKeyId, apiKey, accountId, ...session }: SessionDetails) {
  const { id, createdAt, lastUsedAt, expiresAt, userAgent, address } = session;
  return {
    id,
    keyId: apiKeyId,
    keyName: apiKey.name,
    accountId: apiKey.accountId,
    actingFor: accountId,
    createdAt,
    lastUsedAt,
    expiresAt,
    userAgent,
    address,
  };
}
