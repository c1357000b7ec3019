import { z } from 'zod';
import type { Access } from '../../core/access.ts';
import { parseHostname } from '../../core/names/hostname.ts';
import { parseLastEventId, type StreamedDomain } from '../../events/event-stream.ts';
import type { Service } from '../../service/service.ts';
import { refuse, refuseField } from '../pipeline/errors.ts';
import { type Route, route, success } from '../pipeline/route.ts';
import { findProject } from './projects.ts';
import { EVENTS_SCOPE, type OpenStream } from './streams.ts';

const streamQuery = z.strictObject({
  hostname: z
    .string()
    .optional()
    .describe(
      'Send only events of this domain; while the stream is open, a pending domain is checked every 5 s',
    ),
  checks: z
    .enum(['tell'], { error: 'must be tell' })
    .optional()
    .describe('With `hostname`: also send each check of the domain, as `checked`'),
});

const example = `retry: 2000
id: 41

id: 42
event: domain.live
data: {"id":42,"type":"domain.live","hostname":"docs.example.com","domainId":"0198c1f2-8b20-4e6a-9c3d-1f7a5b2d8e90","at":"2026-11-20T12:00:00.000Z","data":{"issuer":"Let's Encrypt","expiresAt":"2027-02-18T12:00:00.000Z"},"metadata":{},"projectMetadata":{"customer":"42"}}

`;

/** All checks run before the stream starts, because the status cannot change afterwards. */
export function eventsRoute(service: Service, openStream: OpenStream): Route {
  return route({
    tag: 'Events',
    stability: 'stable',
    at: 'GET /v1/projects/:projectId/events',
    scope: EVENTS_SCOPE,
    operationId: 'streamEvents',
    summary: 'Stream events',
    description:
      "Streams events as server-sent events, in order and without duplicates. `id` is the event's number, `event` its type and `data` the Event as one line of JSON. With `Last-Event-ID`, the stream starts after that number; `0` starts at the oldest event that is kept. Without it, only new events are sent. A comment is sent every 15 seconds. If the number is beyond the newest event, the stream sends `stream.reset` with `{newest}` and continues from there. With `checks=tell`, it sends `checked` with `{hostname, attempts, lastCheckedAt, nextCheckAt, changed}` at once and after each check; these have no `id`. `changed` is true if the name servers' answers differ from the previous check. The stream does not end; after a disconnect, reconnect with the last `id`.",
    momentary: true,
    takesLastEventId: true,
    query: streamQuery,
    success: success(200, 'The event stream', 'text/event-stream', example),
    refusals: [
      'invalid_last_event_id',
      'project_not_found',
      'domain_not_found',
      'too_many_streams',
    ],
    handle: async ({ access, params, query, headers, key, requestId }) => {
      const from = beginning(headers['last-event-id']);
      if (!from.ok) return refuse('invalid_last_event_id');
      if (query.checks !== undefined && query.hostname === undefined) {
        return refuseField('invalid_query', 'checks', 'requires hostname');
      }
      const project = await findProject(service, access, params.projectId);
      // The route's scope guarantees a key.
      if (project === null || key === null) return refuse('project_not_found');
      const domain = await domainOf(service, access, project.id, query.hostname);
      if (domain === null) return refuse('domain_not_found');
      return openStream({
        access,
        projectId: project.id,
        domain: domain ?? null,
        checks: query.checks === 'tell',
        after: from.after,
        key,
        authorization: headers['authorization'],
        requestId,
      });
    },
  });
}

/** Undefined if the query names no domain; null if the project never had it. */
async function domainOf(
  { config, events }: Service,
  access: Access,
  projectId: string,
  name: string | undefined,
): Promise<StreamedDomain | null | undefined> {
  if (name === undefined) return undefined;
  const parsed = parseHostname(name, config.platform.domain);
  if (!parsed.ok) return null;
  const hostname = parsed.hostname.ascii;
  const id = await events.findDomainId(access, projectId, hostname);
  return id === null ? null : { id, hostname };
}

/** `after`: the stream starts after this event; null sends only new events. */
function beginning(lastEventId: string | undefined) {
  if (lastEventId === undefined) return { ok: true, after: null } as const;
  const after = parseLastEventId(lastEventId);
  return after === null ? ({ ok: false } as const) : ({ ok: true, after } as const);
}
