/** `signpost accounts`: through the API of a running service. */
import { z } from 'zod';
import { printable } from '../../core/names/printable.ts';
import { callPages, connect } from '../client.ts';
import { type CliExit, exitDone, type Io, wrongUsage } from '../command.ts';
import { notUnderstood } from '../keys.ts';
import { inColumns, toSeconds } from '../layout.ts';

type Common = { readonly url?: string; readonly json?: boolean };
type Given = Common & { readonly name?: string; readonly limit?: readonly string[] };

/** Unknown fields are ignored. Times are RFC 3339. */
const shownAccount = z.object({
  id: z.string(),
  name: z.string(),
  isDefault: z.boolean(),
  createdAt: z.string(),
  closedAt: z.nullable(z.string()),
});

const NAME_LENGTH_MAX = 40;

/** Oldest first. */
export async function listAccounts({ url, json }: Common, io: Io): Promise<CliExit> {
  const connection = connectForAll(url, io);
  if (!connection.ok) return connection.refusal;
  const answer = await callPages(connection.call, '/v1/accounts');
  if (!answer.ok) return answer.refusal;
  const accounts = z.array(shownAccount).safeParse(answer.body);
  if (!accounts.success) return notUnderstood();
  io.out(json ? `${answer.text}\n` : tableOf(accounts.data));
  return exitDone;
}

function tableOf(accounts: readonly z.infer<typeof shownAccount>[]): string {
  const rows = accounts.map(({ id, name, isDefault, createdAt, closedAt }) => [
    id,
    printable(name, NAME_LENGTH_MAX),
    closedAt !== null ? 'closed' : isDefault ? 'default' : 'open',
    toSeconds(createdAt),
  ]);
  return inColumns([['ID', 'NAME', 'STATE', 'CREATED'], ...rows]);
}

const usage = z.record(
  z.string(),
  z.object({ used: z.nullable(z.bigint()), limit: z.nullable(z.bigint()) }),
);

export async function showAccount(id: string, { url, json }: Common, io: Io): Promise<CliExit> {
  const connection = connectForAll(url, io);
  if (!connection.ok) return connection.refusal;
  const account = await connection.call('GET', pathOf(id));
  if (!account.ok) return account.refusal;
  const found = shownAccount.safeParse(account.body);
  if (!found.success) return notUnderstood();
  const answer = await connection.call('GET', `${pathOf(id)}/usage`);
  if (!answer.ok) return answer.refusal;
  const read = usage.safeParse(answer.body);
  if (!read.success) return notUnderstood();
  const rows = Object.entries(read.data).map(([name, { used, limit }]) => [
    printable(name, NAME_LENGTH_MAX),
    used === null ? '-' : String(used),
    limit === null ? 'none' : String(limit),
  ]);
  if (json) io.out(`${answer.text}\n`);
  else io.out(`${tableOf([found.data])}\n${inColumns([['LIMIT', 'USED', 'OF'], ...rows])}`);
  return exitDone;
}

/** Prints only the ID, or with `json` the API's response, to standard output. */
export function addAccount(given: Given, io: Io): Promise<CliExit> {
  return change('POST', '/v1/accounts', given, io);
}

export function changeAccount(id: string, given: Given, io: Io): Promise<CliExit> {
  return change('PATCH', pathOf(id), given, io);
}

async function change(
  method: 'POST' | 'PATCH',
  path: string,
  { name, limit: typed = [], url, json = false }: Given,
  io: Io,
): Promise<CliExit> {
  const limits = limitsIn(typed);
  if (limits === null) {
    return wrongUsage(`--limit ${typed.join(' ')}: use a name and a number, such as domains=5000`);
  }
  if (method === 'PATCH' && name === undefined && limits === undefined) {
    return wrongUsage('nothing to change: use --name or --limit');
  }
  const connection = connectForAll(url, io);
  if (!connection.ok) return connection.refusal;
  const answer = await connection.call(method, path, { name, limits });
  if (!answer.ok) return answer.refusal;
  const changed = shownAccount.safeParse(answer.body);
  if (!changed.success) return notUnderstood();
  io.out(json ? `${answer.text}\n` : `${changed.data.id}\n`);
  return exitDone;
}

/** Undefined without any; null for a mistake. The service knows the names. */
function limitsIn(typed: readonly string[]): Record<string, bigint | null> | null | undefined {
  const limits: Record<string, bigint | null> = {};
  for (const one of typed) {
    const [, name, value] = /^(\w+)=(\d{1,9}|usual)$/.exec(one) ?? [];
    if (name === undefined || value === undefined) return null;
    limits[name] = value === 'usual' ? null : BigInt(value);
  }
  return typed.length === 0 ? undefined : limits;
}

/** Prints nothing to standard output. */
export async function closeAccount(
  id: string,
  { url, deleteProjects = false }: Common & { readonly deleteProjects?: boolean },
  io: Io,
): Promise<CliExit> {
  const connection = connectForAll(url, io);
  if (!connection.ok) return connection.refusal;
  const how = deleteProjects ? '?projects=delete' : '';
  const answer = await connection.call('DELETE', `${pathOf(id)}${how}`);
  if (!answer.ok && answer.code === 'account_has_projects') {
    const message = (answer.message ?? '').replace('?projects=delete', '--delete-projects');
    return wrongUsage(`${message} (${answer.code})`);
  }
  if (!answer.ok) return answer.refusal;
  io.err(`Account ${printable(id, NAME_LENGTH_MAX)} is closed.\n`);
  return exitDone;
}

/** These commands are about all accounts, whatever SIGNPOST_ACCOUNT is. */
function connectForAll(url: string | undefined, { env }: Io) {
  return connect(url, { ...env, SIGNPOST_ACCOUNT: undefined });
}

function pathOf(id: string): string {
  return `/v1/accounts/${encodeURIComponent(id)}`;
}
