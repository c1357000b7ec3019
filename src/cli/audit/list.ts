/** `signpost audit`: the newest entries of the audit log, as a client of the HTTP API. */
import { z } from 'zod';
import { printable } from '../../core/names/printable.ts';
import { connect } from '../client.ts';
import { done, durationMs, type Io, type Outcome, wrongUsage } from '../command.ts';
import { notUnderstood } from '../keys/keys.ts';
import { tableOf, toSeconds } from '../layout.ts';

/** What is asked for; times are `7d`, that long ago, or RFC 3339. */
type Wanted = {
  readonly key?: string;
  readonly project?: string;
  readonly operation?: string;
  readonly from?: string;
  readonly to?: string;
  readonly limit?: string;
  readonly url?: string;
  readonly json?: boolean;
};

/** Prints entries in a table, the newest first, or with `json` the API’s answer. */
export async function list(wanted: Wanted, io: Io): Promise<Outcome> {
  const query = new URLSearchParams();
  const { key, project, operation, limit } = wanted;
  const given = { keyId: key, projectId: project, operationId: operation, limit };
  for (const [name, value] of Object.entries(given)) {
    if (value !== undefined) query.set(name, value);
  }
  for (const name of ['from', 'to'] as const) {
    const typed = wanted[name];
    if (typed === undefined) continue;
    const time = timeOf(typed, io.now());
    if (time === null) return wrongUsage(`--${name} ${typed}: neither 7d nor a time`);
    query.set(name, time);
  }
  const connection = connect(wanted.url, io.env);
  if (!connection.ok) return connection.refusal;
  const answer = await connection.call('GET', `/v1/audit?${query}`);
  if (!answer.ok) return answer.refusal;
  const entries = z.array(shownEntry).safeParse(answer.body);
  if (!entries.success) return notUnderstood();
  io.out(wanted.json ? `${answer.text}\n` : tableOf([headings, ...entries.data.map(rowOf)]));
  return done;
}

/** A time is left for the service to read. */
function timeOf(typed: string, now: Date): string | null {
  if (/^\d{4}-/.test(typed)) return typed;
  const ms = durationMs(typed);
  return ms === null ? null : new Date(now.getTime() - ms).toISOString();
}

const headings = ['AT', 'ACTOR', 'KEY', 'OPERATION', 'OBJECT', 'OUTCOME', 'ADDRESS', 'REQUEST'];

/** Host names and request ids are a client's own text, as far as they go. */
function rowOf({ object, ...entry }: ShownEntry): readonly string[] {
  const name = object.id === null ? object.kind : `${object.kind} ${object.id}`;
  return [
    toSeconds(entry.at),
    entry.actor,
    entry.keyId ?? '-',
    printable(entry.operationId, 60),
    printable(name, 80),
    entry.code === null ? entry.outcome : `${entry.outcome} (${printable(entry.code, 40)})`,
    entry.address ?? '-',
    printable(entry.requestId ?? '-', 64),
  ];
}

/** What the command line reads of an entry; what a later version adds is passed over. Times are RFC 3339. */
const shownEntry = z.object({
  at: z.string(),
  actor: z.string(),
  keyId: z.nullable(z.string()),
  operationId: z.string(),
  object: z.object({ kind: z.string(), id: z.nullable(z.string()) }),
  outcome: z.string(),
  code: z.nullable(z.string()),
  address: z.nullable(z.string()),
  requestId: z.nullable(z.string()),
});
type ShownEntry = z.infer<typeof shownEntry>;
