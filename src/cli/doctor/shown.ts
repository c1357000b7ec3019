/** What the command line reads of a diagnosis, the service's or its own; what a later version adds is passed over. */
import { z } from 'zod';
import type { Answer } from '../../core/diagnosis/observation.ts';
import type { DnsRecord } from '../../core/names/instructions.ts';
import { diagnosis } from '../../http/schemas/diagnosis.ts';
import { parseJson } from '../../net/json.ts';
import { shownFinding } from '../finding-lines.ts';

const shownReport = diagnosis.extend({ findings: z.array(shownFinding) });

export type Report = z.infer<typeof shownReport>;
export type Seen = Report['observation'];
export type ServerRow = Seen['servers'][number];
export type ResolverRow = Seen['world'][number];
export type AnswerShown = ServerRow['cname'];

/** A diagnosis from the JSON text of one; null for any other text. */
export function readReport(json: string): Report | null {
  const parsed = parseJson(new TextEncoder().encode(json));
  const report = shownReport.safeParse(parsed.ok ? parsed.value : undefined);
  return report.success ? report.data : null;
}

/** The answer as the core judges it. */
export function answerIn({ kind, records = [], ttlSeconds = 0 }: AnswerShown): Answer<string> {
  if (kind !== 'records') return { kind };
  const [first, ...rest] = records;
  return first === undefined ? { kind: 'nodata' } : { kind, records: [first, ...rest], ttlSeconds };
}

/** The record as the core has it. */
export function recordIn({ record: { type, name, value } }: Report): DnsRecord {
  return { type, name, value, ttl: 3600 };
}
