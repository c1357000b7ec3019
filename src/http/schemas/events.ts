/** docs/understand/life-of-a-domain.md lists the same types. */
import { z } from 'zod';
import { type EventType, escalationEnds } from '../../core/life/events.ts';
import { TEST_TYPE } from '../../webhooks/message.ts';
import { idOfCursor } from '../pipeline/cursor.ts';
import { int64, time, uuid, wholeNumber } from '../pipeline/json.ts';
import { cursorOf, limitOf } from '../pipeline/paging.ts';
import { problemType } from './certificates.ts';
import { explainedEnum } from './common.ts';
import { redirect } from './domain-settings.ts';
import { dnsRecord, escalationCause, finding } from './domains.ts';
import { metadata } from './metadata.ts';

/** Types are public: clients and webhooks filter by them. */
const eventWords = {
  'domain.added': 'The domain was added, or added again after a removal',
  'domain.findings_changed': 'A finding appeared, changed its evidence or was resolved',
  'domain.verified': 'The DNS is set up correctly',
  'domain.live': 'The edge serves the domain',
  'domain.failed': "The verification window ended, or a drifted domain's certificate expired",
  'domain.unverified': 'The DNS changed before the certificate was issued',
  'domain.reverify_requested': 'A check was requested, or a new verification window started',
  'domain.drifted': 'The DNS now points elsewhere',
  'domain.recovered': 'The DNS is set up correctly again',
  'domain.claimed_elsewhere': 'The DNS now proves ownership for another project',
  'domain.contested': 'Another project added this name; the domain keeps it',
  'domain.removed': 'The domain was removed',
  'certificate.issued': 'A certificate is stored',
  'certificate.renewed': 'A new certificate replaced one that was about to expire',
  'certificate.ended': 'The certificate expired before it was renewed',
  'certificate.failed': 'A certificate order failed',
  'escalation.opened': 'An operator needs to act: the certificate could not be issued or renewed',
  'escalation.closed': 'The cause was resolved, or an operator closed the escalation',
} as const satisfies Readonly<Record<EventType, string>>;

export const eventType = explainedEnum('EventType', 'Type of an event', eventWords);

export const eventTypes: readonly string[] = Object.keys(eventWords);

/** `data` by event type. */
const dataOf = {
  'domain.reverify_requested': z.object({
    count: wholeNumber({ min: 2, max: 2_147_483_647 })
      .optional()
      .describe('Requests in the same status, if more than one'),
    lastAt: time().optional().describe('Time of the last of them'),
  }),
  'domain.added': z.object({ record: dnsRecord }),
  'domain.live': z.object({ issuer: z.string(), expiresAt: time() }),
  'domain.findings_changed': z.object({
    appeared: z.array(finding),
    cleared: z.array(finding),
  }),
  'domain.verified': z.object({ findings: findings() }),
  'domain.recovered': z.object({ findings: findings() }),
  'domain.drifted': z.object({ findings: findings() }),
  'domain.failed': z.object({
    reason: z.enum(['window_ended', 'certificate_ended']),
    findings: findings(),
  }),
  'domain.unverified': z.object({ findings: findings() }),
  'domain.claimed_elsewhere': z.object({
    proof: z.enum(['cname', 'txt']).describe('The record that proved ownership'),
    found: z.string().describe('Target of the CNAME, or the name of the TXT record'),
  }),
  'domain.contested': z.object({
    isPublished: z
      .boolean()
      .describe(
        'Whether the other project’s TXT record is in the zone; delete it to keep the name',
      ),
  }),
  'domain.removed': z.object({
    primary: z.boolean().describe('Whether it was the primary domain'),
    redirects: z.array(redirect).describe('The redirects removed with it'),
  }),
  'certificate.issued': z.object({ issuer: z.string(), expiresAt: time() }),
  'certificate.renewed': z.object({ issuer: z.string(), expiresAt: time() }),
  'certificate.ended': z.object({ expiresAt: time() }),
  'certificate.failed': z.object({ problem: problemType, detail: z.string() }),
  'escalation.opened': z.object({
    cause: escalationCause,
    summary: z.string(),
    nextAction: z.string(),
  }),
  'escalation.closed': z.object({
    cause: escalationCause,
    reason: z.enum(escalationEnds).describe('Why it was closed'),
  }),
} as const satisfies Readonly<Record<EventType, z.ZodType>>;

// Every key of `dataOf` is an event type.
const typeOf = (type: string) => z.literal(type).describe(eventWords[type as EventType]);

const [firstEvent, ...otherEvents] = Object.entries(dataOf).map(([type, data]) =>
  anEvent(typeOf(type), data),
) as [AnEvent, ...AnEvent[]]; // `dataOf` has types

/** `type` determines the fields of `data`. A webhook message adds the project's ID. */
export const event = z
  .discriminatedUnion('type', [firstEvent, ...otherEvents])
  .meta({ id: 'Event', description: 'Event of a domain' });

/** A webhook's message about an event: `type` is also that of `data`, where it is described. */
const [firstMessage, ...otherMessages] = [firstEvent, ...otherEvents].map((one) =>
  aMessage(one.shape.type.value, one),
) as [EventMessage, ...EventMessage[]];

const testMessage = z.object({
  type: z.literal(TEST_TYPE).describe('Sent on request, to try a receiver'),
  timestamp: time(),
  data: z.object({ webhookId: uuid(), projectId: z.nullable(uuid()) }),
});

/** The body of every request to a receiver (Standard Webhooks 1.0.0). */
export const webhookMessage = z
  .discriminatedUnion('type', [firstMessage, ...otherMessages, testMessage])
  .meta({ id: 'WebhookMessage', description: 'Body of a webhook request' });

export const eventList = z.array(event);
/** `cursor` is parsed to the database's ID of an event. */
export const timelineQuery = z.strictObject({
  limit: limitOf('events'),
  cursor: cursorOf(idOfCursor),
});

type EventMessage = ReturnType<typeof aMessage>;

function aMessage(type: string, about: z.ZodObject) {
  return z.object({
    type: z.literal(type),
    timestamp: time().describe('When the event happened'),
    data: about.extend({ projectId: uuid().describe('ID of the project') }),
  });
}

function findings() {
  return z.array(finding);
}

type AnEvent = ReturnType<typeof anEvent>;

function anEvent(type: z.ZodLiteral<string>, data: z.ZodType) {
  return z.object({
    id: int64().describe(
      'Number of the event in the project: 1, 2, 3 …; the numbers of deleted old events stay unused',
    ),
    type,
    hostname: z.string(),
    domainId: uuid().describe('ID of this addition of the host name'),
    at: time(),
    data,
    metadata: metadata.describe("The domain's metadata when the event happened"),
    projectMetadata: metadata.describe("The project's metadata when the event happened"),
  });
}
