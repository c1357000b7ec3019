/** The events of a domain's timeline as schemas; docs/lifecycle.md lists the same ones. */
import { z } from 'zod';
import { type EventType, escalationEnds } from '../../core/life/events.ts';
import { int64, time } from '../pipeline/json.ts';
import { problemType } from './certificates.ts';
import { explainedEnum } from './common.ts';
import { redirect } from './domain-settings.ts';
import { dnsRecord, escalationCause, finding } from './domains.ts';

/** Each type of event, and what happened. Types are published: clients and webhooks choose by them. */
export const eventWords = {
  'domain.added': 'It was added, perhaps again after a removal',
  'domain.findings_changed': 'A finding appeared, changed its evidence or is gone',
  'domain.verified': 'The DNS is right',
  'domain.live': 'The edge serves it',
  'domain.failed': "The window ended, or a drifted domain's certificate",
  'domain.unverified': 'The DNS changed before the certificate came',
  'domain.reverify_requested': 'Check requested, or a new window',
  'domain.drifted': 'The DNS points elsewhere now',
  'domain.recovered': 'The DNS is right again',
  'domain.claimed_elsewhere': "Another project's record answers for the name now",
  'domain.removed': 'It was removed',
  'certificate.issued': 'A certificate is stored',
  'certificate.renewed': 'A new certificate took the place of one that would end',
  'certificate.ended': 'It ended before another one came, and the domain waits for that',
  'certificate.failed': 'The certificate authority refused an order',
  'escalation.opened': 'An operator is called for: the domain gets no certificate',
  'escalation.closed': 'Its cause has ended, or an operator closed it',
} as const satisfies Readonly<Record<EventType, string>>;

/** Every type there is; webhooks name those that they want. */
export const eventType = explainedEnum('EventType', 'What happened', eventWords);

/** The same as a list of names. */
export const eventTypes: readonly string[] = Object.keys(eventWords);

/** By type, the `data` of an event. A type that is not here has an empty object. */
const withData = {
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
    proof: z.enum(['cname', 'txt']).meta({ description: 'By what the DNS says whose the name is' }),
    found: z.string().meta({
      description: "What the DNS shows: the CNAME's target, or the name at which the TXT record is",
    }),
  }),
  'domain.removed': z.object({
    primary: z.boolean().meta({ description: 'Whether it was the primary domain' }),
    redirects: z.array(redirect).meta({ description: 'The redirects that ended with it' }),
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
    reason: z.enum(escalationEnds).meta({ description: 'Why it was closed' }),
  }),
} as const satisfies Partial<Readonly<Record<EventType, z.ZodType>>>;

/** The types without data, which share one kind of object in the document. */
const plain = Object.entries(eventWords).filter(([type]) => !Object.hasOwn(withData, type));

const [plainEvent, ...otherEvents] = [
  anEvent(
    z.enum(plain.map(([type]) => type)).meta({ 'x-enumDescriptions': Object.fromEntries(plain) }),
    z.object({}).meta({ description: 'Nothing more to say' }),
  ),
  ...Object.entries(withData).map(([type, data]) =>
    // Every key of `withData` is a type, as it says above.
    anEvent(z.literal(type).meta({ description: eventWords[type as EventType] }), data),
  ),
] as const;

/**
 * Entry of a timeline, and `data` of a stream's event; a webhook's message has it with the project's id. `type` says which
 * data it has.
 */
export const event = z
  .discriminatedUnion('type', [plainEvent, ...otherEvents])
  .meta({ id: 'Event', description: 'Something that happened to a domain' });

/** Answer of a domain's timeline: the newest first. */
export const eventList = z.array(event);

function findings() {
  return z.array(finding);
}

/** The fields that every event has. `hostname` is that of the domain, as it is stored. */
function anEvent<Type extends z.ZodType<string>>(type: Type, data: z.ZodType) {
  return z.object({
    id: int64().meta({ description: 'Its number in the project: 1, 2, 3 …, without a gap' }),
    type,
    hostname: z.string(),
    at: time(),
    data,
  });
}
