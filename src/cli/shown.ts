/** The parts of API responses that the CLI uses. Unknown fields are ignored; times are RFC 3339. */
import { z } from 'zod';
import type { DnsAnswer } from '../core/diagnosis/observation.ts';
import type { DnsRecord } from '../core/names/instructions.ts';
import { diagnosis } from '../http/schemas/diagnosis.ts';
import { domain } from '../http/schemas/domains.ts';
import { parseJson } from '../net/json.ts';
import type { ServiceAnswer } from './client.ts';
import { type CliExit, exitFailed } from './command.ts';
import { shownFinding } from './lines.ts';

export const shownProject = z.object({ id: z.string(), name: z.string(), slug: z.string() });
export type ProjectShown = z.infer<typeof shownProject>;

const { certificate } = domain.shape;

/** Codes of findings, problem types and browser states can be those of a later version. */
export const shownDomain = domain.omit({ hsts: true }).extend({
  observation: z.nullable(z.object({ view: z.enum(['authoritative', 'recursive']) })),
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
export type ChangeShown = DomainShown['changes'][number];

/** `data` is read by field name. */
export const shownEvent = z.object({
  type: z.string(),
  at: z.string(),
  data: z.record(z.string(), z.unknown()),
});
export type EventShown = z.infer<typeof shownEvent>;

/** `attempts` counts checks since the domain was added or its verification restarted. */
export const shownCheck = z.object({
  attempts: z.bigint(),
  lastCheckedAt: z.nullable(z.string()),
  nextCheckAt: z.nullable(z.string()),
});
export type CheckShown = z.infer<typeof shownCheck>;

/** A-labels in lower case. */
export const shownReading = z.object({ hostname: z.string() });

/** `text`: the raw body. `code`: set if the service sent the error. */
export type Understood<T> =
  | { readonly ok: true; readonly value: T; readonly text: string }
  | { readonly ok: false; readonly refusal: CliExit; readonly code?: string };

/** A body that does not match is `failed`. Never throws. */
export function understood<T>(answer: ServiceAnswer, schema: z.ZodType<T>): Understood<T> {
  if (!answer.ok) return answer;
  const parsed = schema.safeParse(answer.body);
  return parsed.success
    ? { ok: true, value: parsed.data, text: answer.text }
    : {
        ok: false,
        refusal: exitFailed('the service sent an answer this version doesn’t understand'),
      };
}

const shownReport = diagnosis.extend({ findings: z.array(shownFinding) });

/** Findings can have codes of later versions. The record's TTL is a bigint. */
export type Report = z.infer<typeof shownReport>;
export type ReportObservation = Report['observation'];
/** One address of one name server, or one resolver if only resolvers were queried. */
export type ServerRow = ReportObservation['servers'][number];
export type ResolverRow = ReportObservation['world'][number];
/** `records` and `ttlSeconds` are set only if the answer has records. */
export type AnswerShown = ServerRow['cname'];

/** Null if this is not a diagnosis. Never throws. */
export function readReport(json: string): Report | null {
  const parsed = parseJson(new TextEncoder().encode(json));
  const report = shownReport.safeParse(parsed.ok ? parsed.value : undefined);
  return report.success ? report.data : null;
}

/** For src/core/diagnosis/. `records` without records becomes `nodata`. */
export function answerIn(answer: AnswerShown): DnsAnswer<string> {
  const { kind, records = [], ttlSeconds = 0 } = answer;
  if (kind === 'timeout' && answer.cutOff) return { kind, cutOff: true };
  if (kind !== 'records') return { kind };
  const [first, ...rest] = records;
  return first === undefined ? { kind: 'nodata' } : { kind, records: [first, ...rest], ttlSeconds };
}

/** The API's TTL is always 3,600 seconds. */
export function reportedRecord({ record: { type, name, value } }: Report): DnsRecord {
  return { type, name, value, ttl: 3600 };
}
