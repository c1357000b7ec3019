import { isUuid } from '../../core/uuid.ts';
import type { SessionDetails } from '../../db/sessions.ts';
import type { Service } from '../../service/service.ts';
import type { ForgetCredential } from '../keys/auth.ts';
import { cursorAfterText } from '../pipeline/cursor.ts';
import { refuse } from '../pipeline/errors.ts';
import { pageAnswer } from '../pipeline/paging.ts';
import { type Route, route, success } from '../pipeline/route.ts';
import { sessionExample, sessionList, sessionsQuery } from '../schemas/sessions.ts';
import { refuseStronger } from './keys.ts';

const inCommon = { tag: 'Keys', stability: 'stable' } as const;

/** Sign-ins to the dashboard. An account's keys manage those of the account's keys. */
export function sessionRoutes(service: Service, forget: ForgetCredential): readonly Route[] {
  return [listSessions(service), endSession(service, forget)];
}

function listSessions({ now, sessions }: Service): Route {
  return route({
    ...inCommon,
    at: 'GET /v1/sessions',
    scope: 'keys:read',
    operationId: 'listSessions',
    summary: 'List sessions',
    description:
      "Lists the sessions of the dashboard that have not ended, newest first. With an account's key, the sessions of this account's keys.",
    query: sessionsQuery,
    success: success(200, 'A page of sessions', sessionList, [sessionExample]),
    handle: async ({ access, query: { limit, cursor = null } }) => {
      const page = await sessions.list(access, { after: cursor, limit, now: now() });
      return pageAnswer(page, cursorAfterText, sessionView);
    },
  });
}

function endSession({ apiKeys, sessions }: Service, forget: ForgetCredential): Route {
  return route({
    ...inCommon,
    at: 'DELETE /v1/sessions/:sessionId',
    scope: 'keys:write',
    operationId: 'endSession',
    summary: 'End a session',
    description:
      'All processes refuse the session within 5 seconds, and its event streams end. Its key stays valid: to end that, too, revoke it.',
    success: success(204, 'The session has ended'),
    refusals: ['session_not_found'],
    handle: async ({ access, key: asking, params: { sessionId } }) => {
      const id = sessionId.toLowerCase();
      const session = isUuid(id) ? await sessions.get(access, id) : null;
      if (session === null) return refuse('session_not_found');
      const unfit = await refuseStronger(apiKeys, access, asking, session.keyId);
      if (unfit !== null) return unfit;
      return (await sessions.end(access, id))
        ? { status: 204, afterCommit: async () => forget(id) }
        : refuse('session_not_found');
    },
  });
}

function sessionView({ apiKey, ...session }: SessionDetails) {
  const { id, keyId, createdAt, address, userAgent } = session;
  const { name: keyName, expiresAt } = apiKey;
  const endsAt = expiresAt !== null && expiresAt < session.endsAt ? expiresAt : session.endsAt;
  return { id, keyId, keyName, createdAt, endsAt, address, userAgent };
}
