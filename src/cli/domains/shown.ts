/** What the command line reads of projects, domains and events; what a later version adds is passed over. */
import { z } from 'zod';
import { domain } from '../../http/schemas/domains.ts';
import type { Answer } from '../client.ts';
import { failed, type Outcome } from '../command.ts';
import { shownFinding } from '../finding-lines.ts';

export const shownProject = z.object({ id: z.string(), name: z.string(), slug: z.string() });
export type ProjectShown = z.infer<typeof shownProject>;

const { certificate } = domain.shape;

export const shownDomain = domain.omit({ observation: true }).extend({
  findings: z.array(shownFinding),
  certificate: certificate.extend({
    problem: z.nullable(z.object({ type: z.string(), detail: z.string() })),
    browser: z.object({ summary: z.string() }),
  }),
  escalation: z.nullable(
    z.object({ openedAt: z.string(), summary: z.string(), nextAction: z.string() }),
  ),
});
export type DomainShown = z.infer<typeof shownDomain>;

export const shownEvent = z.object({
  type: z.string(),
  at: z.string(),
  data: z.record(z.string(), z.unknown()),
});
export type EventShown = z.infer<typeof shownEvent>;

/** Of a stream: one check of a domain. */
export const shownCheck = z.object({
  attempts: z.bigint(),
  lastCheckedAt: z.nullable(z.string()),
  nextCheckAt: z.nullable(z.string()),
});
export type CheckShown = z.infer<typeof shownCheck>;

export const shownReading = z.object({ hostname: z.string() });

export type Understood<T> =
  | { readonly ok: true; readonly value: T; readonly text: string }
  | { readonly ok: false; readonly refusal: Outcome; readonly code?: string };

/** The body of an answer, or what kept it from us. */
export function understood<T>(answer: Answer, schema: z.ZodType<T>): Understood<T> {
  if (!answer.ok) return answer;
  const parsed = schema.safeParse(answer.body);
  return parsed.success
    ? { ok: true, value: parsed.data, text: answer.text }
    : {
        ok: false,
        refusal: failed('the service sent an answer this version doesn’t understand'),
      };
}
