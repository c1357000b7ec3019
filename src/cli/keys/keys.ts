/** `signpost keys`: a client of the HTTP API, so it works on every storage while the service runs. */
import { printable } from '../../core/names/printable.ts';
import { connect } from '../client.ts';
import {
  type Command,
  done,
  durationMs,
  type Io,
  listing,
  type Outcome,
  parseOptions,
  runGroup,
  wrongUsage,
} from '../command.ts';
import { list, notUnderstood, shownMintedKey } from './list.ts';

const create: Command = {
  synopsis: '--name <name> --scope <scope> [--expires <when>] [--json]',
  summary: 'create a key and print its token',
  async run(args, io) {
    const options = {
      name: { type: 'string' },
      scope: { type: 'string', multiple: true },
      expires: { type: 'string' },
      url: { type: 'string' },
      json: { type: 'boolean' },
    } as const;
    const parsed = parseOptions(args, options, { count: 0 });
    if (!parsed.ok) return parsed.refusal;
    const { name, scope = [], expires, url, json = false } = parsed.values;
    const scopes = scope.flatMap((list) => list.split(',')).map((one) => one.trim());
    if (name === undefined) return wrongUsage('--name is needed: what is the key for?');
    if (scopes.length === 0) return wrongUsage('--scope is needed: what may the key do?');
    const expiresAt = expires === undefined ? undefined : timeOf(expires, io.now());
    if (expiresAt === null) return wrongUsage(`--expires ${expires}: neither 90d nor a time`);
    const connection = connect(url, io.env);
    if (!connection.ok) return connection.refusal;
    const answer = await connection.call('POST', '/v1/keys', { name, scopes, expiresAt });
    return answer.ok ? showMinted(answer, json, io) : answer.refusal;
  },
};

/** A time is left for the service to read. */
function timeOf(expires: string, now: Date): string | null {
  if (/^\d{4}-/.test(expires)) return expires;
  const ms = durationMs(expires);
  return ms === null ? null : new Date(now.getTime() + ms).toISOString();
}

const rotate: Command = {
  synopsis: '<id> [--grace <how long>] [--json]',
  summary: 'replace a key and print the token of the new one; both work for a while',
  async run(args, io) {
    const options = {
      grace: { type: 'string', default: '24h' },
      url: { type: 'string' },
      json: { type: 'boolean' },
    } as const;
    const parsed = parseOptions(args, options, { count: 1, tooFew: missingKeyId });
    if (!parsed.ok) return parsed.refusal;
    const { grace, url, json = false } = parsed.values;
    const key = keyIdOf(parsed.positionals[0]);
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
  },
};

const revoke: Command = {
  synopsis: '<id>',
  summary: 'end a key, everywhere within 5 seconds',
  async run(args, io) {
    const options = { url: { type: 'string' }, json: { type: 'boolean' } } as const;
    const parsed = parseOptions(args, options, { count: 1, tooFew: missingKeyId });
    if (!parsed.ok) return parsed.refusal;
    const key = keyIdOf(parsed.positionals[0]);
    if (!key.ok) return key.refusal;
    const connection = connect(parsed.values.url, io.env);
    if (!connection.ok) return connection.refusal;
    const answer = await connection.call('DELETE', `/v1/keys/${encodeURIComponent(key.id)}`);
    if (!answer.ok) return answer.refusal;
    io.err(`Key ${key.id} is revoked.\n`);
    return done;
  },
};

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

/** What is said where there is none. */
const missingKeyId = `the id of the key is missing: ${whichId}; signpost keys list shows it`;

/** An id, or the prefix of a key. Anything longer may be a key, which does not belong into the arguments of a command. */
function keyIdOf(argument = ''): KeyId {
  const [, id] = /^(?:signpost_)?([0-9A-Za-z]{1,64})$/.exec(argument) ?? [];
  if (id !== undefined) return { ok: true, id };
  return { ok: false, refusal: wrongUsage(`give the id of a key: ${whichId}`) };
}

const commands: Readonly<Record<string, Command>> = { list, create, rotate, revoke };

const usage = `Usage: signpost keys <command>

${listing('', commands)}
  --url <url>   where the service is; else SIGNPOST_URL, else http://127.0.0.1:3000
  --json        the service's own answer on standard output

The key to call with, one with the scope admin, is taken from SIGNPOST_API_KEY or API_KEY: arguments show in
lists of processes. The token of a new key is all that goes to standard output, so that KEY=$(signpost keys
create --name shop --scope pets:read,pets:write) holds it.

  <scope>       pets:read, pets:write, domains:read, domains:write, ops:read or admin; several with
                commas, or --scope again
  <when>        90d, 12h, 30m or 45s from now, or a time such as 2027-01-01T00:00:00Z
  <how long>    24h, 30m, 7d, or 0 to end the old key at once; 24h where it is left out
  <id>          as list shows it, or with signpost_ before it

Exit 0: done. Exit 2: bad usage, a refused request, or the service is unreachable.
`;

/** Runs one of them, or shows which there are. */
export function runKeys(args: readonly string[], io: Io): Promise<Outcome> {
  return runGroup({ name: 'keys', commands, usage }, args, io);
}
