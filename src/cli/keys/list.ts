/** `signpost keys list`: every key, for people. */

import { z } from 'zod';
import { printable } from '../../core/names/printable.ts';
import { connect } from '../client.ts';
import { done, failed, type Io, type Outcome } from '../command.ts';

const MAX_NAME_LENGTH = 40;

/** Prints every key, oldest first. */
export async function list(
  { url, json }: { readonly url?: string; readonly json?: boolean },
  io: Io,
): Promise<Outcome> {
  const connection = connect(url, io.env);
  if (!connection.ok) return connection.refusal;
  const answer = await connection.call('GET', '/v1/keys');
  if (!answer.ok) return answer.refusal;
  const keys = z.array(shownKey).safeParse(answer.body);
  if (!keys.success) return notUnderstood();
  io.out(json ? `${answer.text}\n` : table([headings, ...keys.data.map(rowOf)]));
  return done;
}

const headings = [
  'ID',
  'NAME',
  'STATUS',
  'SCOPES',
  'CREATED',
  'EXPIRES',
  'LAST USED',
  'SUCCESSOR',
  'DEPRECATED CALLS',
];

function rowOf(key: ShownKey): readonly string[] {
  const calls = key.deprecatedUses.map(({ operationId, count }) => `${operationId} ${count}`);
  return [
    key.id,
    printable(key.name, MAX_NAME_LENGTH),
    key.status,
    key.scopes.join(','),
    ...[key.createdAt, key.expiresAt, key.lastUsedAt].map(toSeconds),
    key.successorId ?? '-',
    calls.join(', ') || '-',
  ];
}

/** `2026-11-20T12:00:00Z` */
function toSeconds(time: string | null): string {
  return time?.replace(/\.\d+(?=Z$)/, '') ?? '-';
}

function table(rows: readonly (readonly string[])[]): string {
  const widths = headings.map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    row
      .map((cell, at) => cell.padEnd(widths[at] ?? 0))
      .join('  ')
      .trimEnd();
  return rows.map((row) => `${line(row)}\n`).join('');
}

const shownKey = z.object({
  id: z.string(),
  name: z.string(),
  scopes: z.array(z.string()),
  status: z.string(),
  createdAt: z.string(),
  expiresAt: z.nullable(z.string()),
  lastUsedAt: z.nullable(z.string()),
  successorId: z.nullable(z.string()),
  deprecatedUses: z.array(z.object({ operationId: z.string(), count: z.bigint() })),
});
type ShownKey = z.infer<typeof shownKey>;

export const shownMintedKey = shownKey.extend({ key: z.string() });

export function notUnderstood(): Outcome {
  return failed('the service sent an answer this version doesn’t understand');
}
