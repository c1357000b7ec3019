/** `signpost keys`: a client of the HTTP API, so it works on every storage while the service runs. */

import { z } from 'zod';
import { printable } from '../../core/names/printable.ts';
import { connect, everyPage } from '../client.ts';
import { done, durationMs, failed, type Io, type Outcome, wrongUsage } from '../command.ts';
import { tableOf, toSeconds } from '../layout.ts';

/** `url`: where the service is, if not where client.ts finds it. `json`: its own answer is wanted. */
type Common = { readonly url?: string; readonly json?: boolean };

type Wanted = Common & {
  readonly name: string;
  readonly scope: readonly string[];
  /** `90d`, or a time in RFC 3339; left out, the key has no end. */
  readonly expires?: string;
  /** The ID of an account; left out, the key is of the installation, or of the account that is acted for. */
  readonly account?: string;
  /** IDs of projects of the account; left out, the key is for all of them. */
  readonly project?: readonly string[];
};

/** Creates a key. Only its token, or with `json` the API's answer, goes to standard output. */
export async function create(
  { name, scope: scopes, expires, account, project, url, json = false }: Wanted,
  io: Io,
): Promise<Outcome> {
  const expiresAt = expires === undefined ? undefined : timeOf(expires, io.now());
  if (expiresAt === null) return wrongUsage(`--expires ${expires}: neither 90d nor a time`);
  const connection = connect(url, io.env);
  if (!connection.ok) return connection.refusal;
  const answer = await connection.call('POST', '/v1/keys', {
    name,
    scopes,
    expiresAt,
    accountId: account,
    projectIds: project,
  });
  return answer.ok ? showMinted(answer, json, io) : answer.refusal;
}

/** A time is left for the service to read. */
function timeOf(expires: string, now: Date): string | null {
  if (/^\d{4}-/.test(expires)) return expires;
  const ms = durationMs(expires);
  return ms === null ? null : new Date(now.getTime() + ms).toISOString();
}

/** `grace`: how long the old key still works, such as `24h`; `0` ends it at once. */
type Replacement = Common & { readonly grace: string };

/**
 * Replaces a key, given by its id or its prefix. Only the token of the new one, or with `json` the API's answer, goes
 * to standard output.
 */
export async function rotate(
  typed: string,
  { grace, url, json = false }: Replacement,
  io: Io,
): Promise<Outcome> {
  const key = keyIdOf(typed);
  if (!key.ok) return key.refusal;
  const graceMs = durationMs(grace);
  if (graceMs === null) return wrongUsage(`--grace ${grace}: must be such as 24h, 30m or 0`);
  const connection = connect(url, io.env);
  if (!connection.ok) return connection.refusal;
  const path = `/v1/keys/${encodeURIComponent(key.id)}/rotate`;
  const answer = await connection.call('POST', path, { graceSeconds: graceMs / 1_000 });
  if (!answer.ok) return answer.refusal;
  const left = graceMs === 0 ? 'has ended' : `works for ${grace} more, or until its own end`;
  return showMinted(answer, json, io, `It replaces ${key.id}, which ${left}.\n`);
}

/** Revokes a key, given by its id or its prefix. Prints nothing on standard output. */
export async function revoke(typed: string, { url }: Common, io: Io): Promise<Outcome> {
  const key = keyIdOf(typed);
  if (!key.ok) return key.refusal;
  const connection = connect(url, io.env);
  if (!connection.ok) return connection.refusal;
  const answer = await connection.call('DELETE', `/v1/keys/${encodeURIComponent(key.id)}`);
  if (!answer.ok) return answer.refusal;
  io.err(`Key ${key.id} is revoked.\n`);
  return done;
}

/** The token, or the whole answer, to standard output; words to the other one. */
function showMinted(
  { text, body }: { readonly text: string; readonly body: unknown },
  json: boolean,
  { out, err }: Io,
  more = '',
): Outcome {
  const minted = shownMintedKey.safeParse(body);
  if (!minted.success) return notUnderstood();
  const { id, name, scopes, expiresAt, key } = minted.data;
  const end = expiresAt === null ? 'without an end' : `until ${expiresAt}`;
  err(`Key ${id} (${printable(name, 40)}) may ${scopes.join(', ')}, ${end}.\n${more}`);
  err('Its token is shown only now:\n');
  out(json ? `${text}\n` : `${key}\n`);
  return done;
}

type KeyId =
  | { readonly ok: true; readonly id: string }
  | { readonly ok: false; readonly refusal: Outcome };

const whichId = 'the part after signpost_, up to the next _';

/** An id, or the prefix of a key. Anything longer may be a key, which does not belong into the arguments of a command. */
function keyIdOf(argument: string): KeyId {
  const [, id] = /^(?:signpost_)?([0-9A-Za-z]{1,64})$/.exec(argument) ?? [];
  if (id !== undefined) return { ok: true, id };
  return { ok: false, refusal: wrongUsage(`give the id of a key: ${whichId}`) };
}

const MAX_NAME_LENGTH = 40;

/**
 * Prints every key in a table, oldest first, or with `json` the API's answer. Tokens are not among what the API
 * gives.
 */
export async function list(
  { url, json }: { readonly url?: string; readonly json?: boolean },
  io: Io,
): Promise<Outcome> {
  const connection = connect(url, io.env);
  if (!connection.ok) return connection.refusal;
  const answer = await everyPage(connection.call, '/v1/keys');
  if (!answer.ok) return answer.refusal;
  const keys = z.array(shownKey).safeParse(answer.body);
  if (!keys.success) return notUnderstood();
  io.out(json ? `${answer.text}\n` : tableOf([headings, ...keys.data.map(rowOf)]));
  return done;
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
    key.accountId ?? '-',
    ...[key.createdAt, key.expiresAt, key.lastUsedAt].map(toSeconds),
    key.successorId ?? '-',
    calls.join(', ') || '-',
  ];
}

/** What the command line reads of a key; what a later version adds is passed over. Times are RFC 3339. */
const shownKey = z.object({
  id: z.string(),
  name: z.string(),
  scopes: z.array(z.string()),
  accountId: z.nullish(z.string()),
  status: z.string(),
  createdAt: z.string(),
  expiresAt: z.nullable(z.string()),
  lastUsedAt: z.nullable(z.string()),
  successorId: z.nullable(z.string()),
  deprecatedUses: z.array(z.object({ operationId: z.string(), count: z.bigint() })),
});
type ShownKey = z.infer<typeof shownKey>;

/**
 * A key with its token, as the API answers where it makes one. An answer without the token, as a replayed one is,
 * does not fit.
 */
export const shownMintedKey = shownKey.extend({ key: z.string() });

/** The outcome where an answer of the service does not have the shape that this version expects. */
export function notUnderstood(): Outcome {
  return failed('the service sent an answer this version doesn’t understand');
}
