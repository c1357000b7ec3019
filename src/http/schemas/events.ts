/** The events of a domain's timeline as schemas; docs/lifecycle.md lists the same ones. */
import { z } from 'zod';
import type { DomainEvent } from '../../db/events.ts';
import { int64, time } from '../json.ts';
import { escalationCause, finding, problemType } from './domains.ts';

type EventType = DomainEvent['type'];

const words = {
  'domain.added': 'It was added, perhaps again after a removal',
  'domain.findings_changed': 'A finding appeared, changed its evidence or is gone',
  'domain.verified': 'The DNS is right',
  'domain.live': 'The edge serves it',
  'domain.failed': "The window ended, or a drifted domain's certificate",
  'domain.unverified': 'The DNS changed before the certificate came, or the certificate ended',
  'domain.reverify_requested': 'Somebody asked for a new window',
  'domain.drifted': 'The DNS points elsewhere now',
  'domain.recovered': 'The DNS is right again',
  'domain.claimed_elsewhere': "Another project's record answers for the name now",
  'domain.removed': 'It was removed',
  'certificate.issued': 'A certificate is stored',
  'certificate.failed': 'The authority refused an order',
  'escalation.opened': 'A case for an operator was opened',
  'escalation.closed': 'Its cause has ended',
} as const satisfies Readonly<Record<EventType, string>>;

const withData = {
  'domain.findings_changed': z.object({
    appeared: z.array(finding),
    cleared: z.array(finding),
  }),
  'certificate.issued': z.object({ issuer: z.string(), expiresAt: time() }),
  'certificate.failed': z.object({ problem: problemType, detail: z.string() }),
  'escalation.opened': z.object({ cause: escalationCause, nextAction: z.string() }),
  'escalation.closed': z.object({ cause: escalationCause }),
} as const satisfies Partial<Readonly<Record<EventType, z.ZodType>>>;

const plain = Object.entries(words).filter(([type]) => !Object.hasOwn(withData, type));

const [plainEvent, ...otherEvents] = [
  anEvent(
    z.enum(plain.map(([type]) => type)).meta({ 'x-enumDescriptions': Object.fromEntries(plain) }),
    z.object({}).meta({ description: 'Nothing more to say' }),
  ),
  ...Object.entries(withData).map(([type, data]) =>
    // Every key of `withData` is a type, as it says above.
    anEvent(z.literal(type).meta({ description: words[type as EventType] }), data),
  ),
] as const;

export const event = z
  .discriminatedUnion('type', [plainEvent, ...otherEvents])
  .meta({ id: 'Event', description: 'Something that happened to a domain, told once' });

export const eventList = z.array(event);

function anEvent<Type extends z.ZodType<string>>(type: Type, data: z.ZodType) {
  return z.object({
    id: int64().meta({ description: 'Grows with every event' }),
    type,
    at: time(),
    data,
  });
}
