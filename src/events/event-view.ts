/** An event as the API, its streams and webhooks show it. */
import { explain, type Finding, severities } from '../core/diagnosis/findings.ts';
import type { EventRow } from '../db/events.ts';

/** The Event of docs/api.md: findings are explained in words, everything else is as it was stored. */
export function eventView({ number, type, data, at, domain }: EventRow) {
  const stored = Object.entries(data as object); // an object: written by record_events() from a DomainEvent
  const shown = stored.map(([field, value]) => [
    field,
    findingFields.includes(field) ? findingsIn(value).map(explain) : value,
  ]);
  return { id: number, type, hostname: domain.hostname, at, data: Object.fromEntries(shown) };
}

/** The fields of events' data that hold findings (src/core/life/events.ts). */
const findingFields: readonly string[] = ['findings', 'appeared', 'cleared'];

/** Reads stored findings, and leaves out those that this version does not know: a newer one may run, or have run, here. */
export function findingsIn(stored: unknown): readonly Finding[] {
  const findings = stored as readonly Finding[]; // written by us only, always from Finding[]
  return findings.filter(({ code }) => Object.hasOwn(severities, code));
}
