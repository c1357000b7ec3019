/** The events of a project as a stream. */
import { z } from 'zod';
import type { GrantedProjectId } from '../../core/accounts/access.ts';
import { parseHostname } from '../../core/names/hostname.ts';
import type { EventFeedStore } from '../../db/events.ts';
import type { ProjectStore } from '../../db/projects.ts';
import { parseLastEventId } from '../../events/event-stream.ts';
import { ACCOUNT_HEADER } from '../keys/act-for.ts';
import { refuse } from '../pipeline/errors.ts';
import { type Route, route } from '../pipeline/route.ts';
import { findProject } from './projects.ts';
import { EVENTS_SCOPE, type OpenStream } from './streams.ts';

/** What opening a stream needs to know of the project and its domains. */
export type EventRoutesDeps = {
  readonly projects: ProjectStore;
  /** Also of a domain that was removed; null where the project never had it. */
  readonly findDomainId: EventFeedStore['findDomainId'];
  readonly platformDomain: string;
  readonly openStream: OpenStream;
};

const streamQuery = z.strictObject({
  hostname: z.string().optional().meta({
    description:
      'Events of this domain alone; while such a stream is open, a pending domain is checked every 5 s',
  }),
  checks: z.enum(['tell'], { error: 'takes one value, tell' }).optional().meta({
    description: 'With `hostname`: each check of the domain is sent, too, as `checked`',
  }),
});

/** A stream of the OpenAPI document: the wait before a reconnect, the number where it begins, and one event. */
const example = `retry: 2000
id: 41

id: 42
event: domain.live
data: {"id":42,"type":"domain.live","hostname":"docs.example.com","at":"2026-11-20T12:00:00.000Z","data":{"issuer":"Let's Encrypt","expiresAt":"2027-02-18T12:00:00.000Z"}}

`;

/** `GET /v1/projects/{projectId}/events`, a stream without an end of its own. */
export function eventRoutes(deps: EventRoutesDeps): readonly Route[] {
  return [streamEvents(deps)];
}

/** Everything is checked before the stream begins: afterwards there is no status left to refuse with. */
function streamEvents({
  projects,
  findDomainId,
  platformDomain,
  openStream,
}: EventRoutesDeps): Route {
  return route({
    tag: 'Events',
    stability: 'beta',
    method: 'GET',
    path: '/v1/projects/:projectId/events',
    scope: EVENTS_SCOPE,
    operationId: 'streamEvents',
    summary: 'Events as they happen',
    description:
      "Server-sent events: each has the Event's number as its `id`, its type as `event`, and as `data` the Event in one line. With `Last-Event-ID` everything after that number comes first, `0` being before all; without it, what happens from now on. Nothing is left out, nothing comes twice, and all of it in order. A comment comes every 15 seconds. Where the number is beyond the newest event, `stream.reset` says `{newest}`, and the stream goes on from there. With `checks=tell`, `checked` says `{hostname, attempts, lastCheckedAt, nextCheckAt, changed}` of each check of the domain, `changed` being whether its name servers showed something else than at the one before; the first comes at once, and none has a number. It has no end of its own: whoever is cut off comes back with the last number.",
    momentary: true,
    takesLastEventId: true,
    query: streamQuery,
    success: { status: 200, description: 'The stream', mediaType: 'text/event-stream', example },
    refusals: [
      'invalid_last_event_id',
      'project_not_found',
      'domain_not_found',
      'too_many_streams',
    ],
    handle: async ({ params, query, headers, key, requestId }) => {
      const from = beginning(headers['last-event-id']);
      if (!from.ok) return refuse('invalid_last_event_id');
      if (query.checks !== undefined && query.hostname === undefined) {
        return refuse('invalid_query', 'checks: goes with hostname');
      }
      const project = await findProject(projects, key.access, params.projectId);
      if (project === null) return refuse('project_not_found');
      const domainId = await domainIdOf(project.id, query.hostname);
      if (domainId === null) return refuse('domain_not_found');
      return openStream({
        project,
        authorization: headers['authorization'],
        account: headers[ACCOUNT_HEADER],
        domainId: domainId ?? null,
        checks: query.checks === 'tell',
        after: from.after,
        key,
        requestId,
      });
    },
  });

  /** The domain whose events alone are sent. Undefined where the query names none; null where the project never had it. */
  async function domainIdOf(projectId: GrantedProjectId, hostname: string | undefined) {
    if (hostname === undefined) return undefined;
    const parsed = parseHostname(hostname, platformDomain);
    return parsed.ok ? findDomainId(projectId, parsed.hostname.ascii) : null;
  }
}

/** The number after which the stream begins; null where it begins with what happens from now on. */
function beginning(lastEventId: string | undefined) {
  if (lastEventId === undefined) return { ok: true, after: null } as const;
  const after = parseLastEventId(lastEventId);
  return after === null ? ({ ok: false } as const) : ({ ok: true, after } as const);
}
