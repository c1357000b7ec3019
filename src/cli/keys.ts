/** `signpost keys`: uses the HTTP API, so it works with every storage while the service runs. */

import { z } from 'zod';
import { printable } from '../core/names/printable.ts';
import { parseDuration } from '../core/time.ts';
import { callPages, connect } from './client.ts';
import { type CliExit, exitDone, exitFailed, type Io, wrongUsage } from './command.ts';
import { inColumns, toSeconds } from './layout.ts';

type Common = { readonly url?: string; readonly json?: boolean };

type KeyOptions = Common & {
  readonly name: string;
  readonly scope: readonly string[];
  readonly account?: string;
  readonly project?: readonly string[];
  /** `90d`, or a time in RFC 3339; without it, the key never expires. */
  readonly expires?: string;
};

/** Prints only the token, or with `json` the API's response, to standard output. */
export async function create(
  { name, scope: scopes, account, project, expires, url, json = false }: KeyOptions,
  io: Io,
): Promise<CliExit> {
  const expiresAt = expires === undefined ? undefined : timeOf(expires, io.now());
  if (expiresAt === null)
    return wrongUsage(
      `--expires ${expires}: use a duration such as 90d or a time such as 2027-01-01T00:00:00Z`,
    );
  const connection = connect(url, io.env);
  if (!connection.ok) return connection.refusal;
  const answer = await connection.call('POST', '/v1/keys', {
    name,
    scopes,
    accountId: account,
    projectIds: project,
    expiresAt,
  });
  return answer.ok ? showMinted(answer, json, io) : answer.refusal;
}

/** A time is passed on for the service to parse. */
function timeOf(expires: string, now: Date): string | null {
  if (/^\d{4}-/.test(expires)) return expires;
  const ms = parseDuration(expires);
  return ms === null ? null : new Date(now.getTime() + ms).toISOString();
}

/** How long the old key keeps working, such as `24h`; `0` ends it at once. */
type Replacement = Common & { readonly grace: string };

/** `typed`: ID or prefix. Prints only the new token, or with `json` the API's response. */
export async function rotate(
  typed: string,
  { grace, url, json = false }: Replacement,
  io: Io,
): Promise<CliExit> {
  const key = keyIdOf(typed);
  if (!key.ok) return key.refusal;
  const graceMs = parseDuration(grace);
  if (graceMs === null)
    return wrongUsage(`--grace ${grace}: use a duration such as 24h or 30m, or 0`);
  const connection = connect(url, io.env);
  if (!connection.ok) return connection.refusal;
  const path = `/v1/keys/${encodeURIComponent(key.id)}/rotate`;
  const answer = await connection.call('POST', path, { graceSeconds: graceMs / 1_000 });
  if (!answer.ok) return answer.refusal;
  const left = graceMs === 0 ? 'no longer works' : `works for ${grace} more, or until it expires`;
  return showMinted(answer, json, io, `It replaces ${key.id}, which ${left}.\n`);
}

/** `typed`: ID or prefix. Prints nothing to standard output. */
export async function revoke(typed: string, { url }: Common, io: Io): Promise<CliExit> {
  const key = keyIdOf(typed);
  if (!key.ok) return key.refusal;
  const connection = connect(url, io.env);
  if (!connection.ok) return connection.refusal;
  const answer = await connection.call('DELETE', `/v1/keys/${encodeURIComponent(key.id)}`);
  if (!answer.ok) return answer.refusal;
  io.err(`Key ${key.id} was revoked.\n`);
  return exitDone;
}

/** Explanations go to standard error. */
function showMinted(
  { text, body }: { readonly text: string; readonly body: unknown },
  json: boolean,
  { out, err }: Io,
  more = '',
): CliExit {
  const minted = shownMintedKey.safeParse(body);
  if (!minted.success) return notUnderstood();
  const { id, name, scopes, expiresAt, key } = minted.data;
  const end = expiresAt === null ? 'without expiry' : `until ${expiresAt}`;
  err(`Key ${id} (${printable(name, 40)}): scopes ${scopes.join(', ')}, ${end}.\n${more}`);
  err('Copy the token now. It is not shown again:\n');
  out(json ? `${text}\n` : `${key}\n`);
  return exitDone;
}

type KeyId =
  | { readonly ok: true; readonly id: string }
  | { readonly ok: false; readonly refusal: CliExit };

const whichId = 'the part after signpost_, up to the next _';

/** An ID or prefix. Longer text can be a whole key, which must not be a command argument. */
function keyIdOf(argument: string): KeyId {
  const [, id] = /^(?:signpost_)?([0-9A-Za-z]{1,64})$/.exec(argument) ?? [];
  if (id !== undefined) return { ok: true, id };
  return { ok: false, refusal: wrongUsage(`pass the ID of a key: ${whichId}`) };
}

const MAX_NAME_LENGTH = 40;

/** Oldest first. */
export async function listKeys(
  { url, json }: { readonly url?: string; readonly json?: boolean },
  io: Io,
): Promise<CliExit> {
  const connection = connect(url, io.env);
  if (!connection.ok) return connection.refusal;
  const answer = await callPages(connection.call, '/v1/keys');
  if (!answer.ok) return answer.refusal;
  const keys = z.array(shownKey).safeParse(answer.body);
  if (!keys.success) return notUnderstood();
  io.out(json ? `${answer.text}\n` : inColumns([headings, ...keys.data.map(rowOf)]));
  return exitDone;
}

const headings = [
  'ID',
  'NAME',
  'STATUS',
  'SCOPES',
  'ACCOUNT',
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
    accountOf(key),
    ...[key.createdAt, key.expiresAt, key.lastUsedAt].map((time) => (time ? toSeconds(time) : '-')),
    key.successorId ?? '-',
    calls.join(', ') || '-',
  ];
}

/** `-`: the installation's. */
function accountOf({ accountId, projectIds }: ShownKey): string {
  const more = projectIds ? ` (${projectIds.length} of its projects)` : '';
  return `${accountId ?? '-'}${more}`;
}

/** Unknown fields are ignored. Times are RFC 3339. */
const shownKey = z.object({
  id: z.string(),
  name: z.string(),
  scopes: z.array(z.string()),
  accountId: z.nullable(z.string()),
  projectIds: z.nullable(z.array(z.string())),
  status: z.string(),
  createdAt: z.string(),
  expiresAt: z.nullable(z.string()),
  lastUsedAt: z.nullable(z.string()),
  successorId: z.nullable(z.string()),
  deprecatedUses: z.array(z.object({ operationId: z.string(), count: z.bigint() })),
});
type ShownKey = z.infer<typeof shownKey>;

/** A response without the token, such as a replay, does not match. */
export const shownMintedKey = shownKey.extend({ key: z.string() });

/** For responses that do not match the schema of this version. */
export function notUnderstood(): CliExit {
  return exitFailed('the service sent a response that this version does not understand');
}
