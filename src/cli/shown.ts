/** What the command line reads of the service's answers; what a later version adds is passed over. */
import { z } from 'zod';
import type { Answer } from '../core/diagnosis/observation.ts';
import type { DnsRecord } from '../core/names/instructions.ts';
import { diagnosis } from '../http/schemas/diagnosis.ts';
import { domain } from '../http/schemas/domains.ts';
import { parseJson } from '../net/json.ts';
import type { Answer as ServiceAnswer } from './client.ts';
import { failed, type Outcome } from './command.ts';
import { shownFinding } from './lines.ts';

/** A project, by what the command line shows of it. */
export const shownProject = z.object({ id: z.string(), name: z.string(), slug: z.string() });
/** A project that `shownProject` has read. */
export type ProjectShown = z.infer<typeof shownProject>;

const { certificate, proofRecord } = domain.shape;

/**
 * A domain without its observation and HSTS, which no command shows. Codes of findings, a refusal's type and a browser's state
 * may be those of a later version.
 */
export const shownDomain = domain.omit({ observation: true, hsts: true }).extend({
  findings: z.array(shownFinding),
  // A service of before has none, and one of a later version may have other reasons.
  proofRecord: proofRecord.unwrap().extend({ reason: z.string() }).nullish(),
  certificate: certificate.extend({
    problem: z.nullable(z.object({ type: z.string(), detail: z.string() })),
    browser: z.object({ summary: z.string() }),
  }),
  escalation: z.nullable(
    z.object({ openedAt: z.string(), summary: z.string(), nextAction: z.string() }),
  ),
});
/** A domain that `shownDomain` has read; times are RFC 3339. */
export type DomainShown = z.infer<typeof shownDomain>;

/** An event of the timeline, of any type: `data` is read by the names of its fields. */
export const shownEvent = z.object({
  type: z.string(),
  at: z.string(),
  data: z.record(z.string(), z.unknown()),
});
/** An event that `shownEvent` has read; `at` is RFC 3339. */
export type EventShown = z.infer<typeof shownEvent>;

/** One check of a domain, as a stream reports it. `attempts` counts those since it was added or verified again. */
export const shownCheck = z.object({
  attempts: z.bigint(),
  lastCheckedAt: z.nullable(z.string()),
  nextCheckAt: z.nullable(z.string()),
});
/** A check that `shownCheck` has read. */
export type CheckShown = z.infer<typeof shownCheck>;

/** A host name as the service reads it: A-labels in lower case. */
export const shownReading = z.object({ hostname: z.string() });

/** `text`: the body as it came. `code`: the service's own, where it was the service that refused. */
export type Understood<T> =
  | { readonly ok: true; readonly value: T; readonly text: string }
  | { readonly ok: false; readonly refusal: Outcome; readonly code?: string };

/** The body of an answer by a schema, or the answer's refusal. A body that does not fit is `failed`. Never throws. */
export function understood<T>(answer: ServiceAnswer, schema: z.ZodType<T>): Understood<T> {
  if (!answer.ok) return answer;
  const parsed = schema.safeParse(answer.body);
  return parsed.success
    ? { ok: true, value: parsed.data, text: answer.text }
    : {
        ok: false,
        refusal: failed('the service sent an answer this version doesn’t understand'),
      };
}

const shownReport = diagnosis.extend({ findings: z.array(shownFinding) });

/** A diagnosis with findings of any code, those of later versions included. The record's TTL is a bigint. */
export type Report = z.infer<typeof shownReport>;
/** The evidence: what each server showed at this one check. */
export type Seen = Report['observation'];
/** What one address of one name server shows, or one resolver where only resolvers were asked. */
export type ServerRow = Seen['servers'][number];
/** What one recursive server says to the world. */
export type ResolverRow = Seen['world'][number];
/** One server's answer to one question; `records` and `ttlSeconds` (seconds) only where there are records. */
export type AnswerShown = ServerRow['cname'];

/** A diagnosis from the JSON text of one; null for any other text. Never throws. */
export function readReport(json: string): Report | null {
  const parsed = parseJson(new TextEncoder().encode(json));
  const report = shownReport.safeParse(parsed.ok ? parsed.value : undefined);
  return report.success ? report.data : null;
}

/** The answer in the form in which src/core/diagnosis/ classifies it. `records` without any record is `nodata`. */
export function answerIn({ kind, records = [], ttlSeconds = 0 }: AnswerShown): Answer<string> {
  if (kind !== 'records') return { kind };
  const [first, ...rest] = records;
  return first === undefined ? { kind: 'nodata' } : { kind, records: [first, ...rest], ttlSeconds };
}

/** The record in the core's form. Its TTL is 3,600 seconds, the only one that the API's schema has. */
export function recordIn({ record: { type, name, value } }: Report): DnsRecord {
  return { type, name, value, ttl: 3600 };
}
