/** What the command line reads of a diagnosis, the service's or its own; what a later version adds is passed over. */
import { z } from 'zod';
import type { Answer } from '../../core/diagnosis/observation.ts';
import type { DnsRecord } from '../../core/names/instructions.ts';
import { diagnosis } from '../../http/schemas/diagnosis.ts';
import { parseJson } from '../../net/json.ts';
import { shownFinding } from '../finding-lines.ts';

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
