/** What `signpost accounts` does: a client of the HTTP API. */
import { z } from 'zod';
import { printable } from '../../core/names/printable.ts';
import { connect, everyPage } from '../client.ts';
import { done, type Io, type Outcome, wrongUsage } from '../command.ts';
import { notUnderstood } from '../keys/keys.ts';
import { tableOf } from '../layout.ts';

/** `url`: where the service is, if not where client.ts finds it. `json`: its own answer is wanted. */
type Common = { readonly url?: string; readonly json?: boolean };

const NAME_MAX = 40; // of what is printed of a name, in characters

/** Creates an account. Only its ID, or with `json` the API's answer, goes to standard output. */
export async function create(
  { name, limits: typed, url, json = false }: Common & Changed & { readonly name: string },
  io: Io,
): Promise<Outcome> {
  const limits = limitsIn(typed);
  if (limits === null) return misread(typed);
  const connection = connect(url, io.env);
  if (!connection.ok) return connection.refusal;
  const answer = await connection.call('POST', '/v1/accounts', { name, limits });
  if (!answer.ok) return answer.refusal;
  const made = shownAccount.safeParse(answer.body);
  if (!made.success) return notUnderstood();
  io.err(`Account ${printable(made.data.name, NAME_MAX)} is open. Its ID:\n`);
  io.out(json ? `${answer.text}\n` : `${made.data.id}\n`);
  return done;
}

/** Prints every account in a table, oldest first, or with `json` the API's answer. */
export async function list({ url, json = false }: Common, io: Io): Promise<Outcome> {
  const connection = connect(url, io.env);
  if (!connection.ok) return connection.refusal;
  const answer = await everyPage(connection.call, '/v1/accounts');
  if (!answer.ok) return answer.refusal;
  const accounts = z.array(shownAccount).safeParse(answer.body);
  if (!accounts.success) return notUnderstood();
  const rows = accounts.data.map(({ id, name, createdAt, closedAt }) => [
    id,
    printable(name, NAME_MAX),
    createdAt,
    closedAt ?? '-',
  ]);
  io.out(json ? `${answer.text}\n` : tableOf([['ID', 'NAME', 'CREATED', 'CLOSED'], ...rows]));
  return done;
}

/** Prints an account and how much of each of its limits is used, or with `json` the API's answer about the second. */
export async function show(id: string, { url, json = false }: Common, io: Io): Promise<Outcome> {
  const connection = connect(url, io.env);
  if (!connection.ok) return connection.refusal;
  const answers = [];
  for (const path of [pathOf(id), `${pathOf(id)}/usage`]) {
    const answer = await connection.call('GET', path);
    if (!answer.ok) return answer.refusal;
    answers.push(answer);
  }
  const [account, usage] = answers;
  const shown = shownAccount.safeParse(account?.body);
  const used = shownUsage.safeParse(usage?.body);
  if (!shown.success || !used.success) return notUnderstood();
  const { name, createdAt, closedAt } = shown.data;
  const life = closedAt === null ? 'open' : `closed at ${closedAt}`;
  io.err(`Account ${printable(name, NAME_MAX)}, made at ${createdAt}, ${life}.\n`);
  const rows = Object.entries(used.data).map(([limit, { used: count, limit: most }]) => [
    printable(limit, NAME_MAX),
    count === null ? '-' : String(count),
    most === null ? 'none' : String(most),
  ]);
  io.out(json ? `${usage?.text}\n` : tableOf([['WHAT', 'USED', 'LIMIT'], ...rows]));
  return done;
}

/** What is to change of an account; `limits` as it was typed. */
type Changed = { readonly name?: string; readonly limits?: string };

/** Changes the name, the limits or both. With `json` the API's answer goes to standard output, else nothing. */
export async function change(
  id: string,
  { name, limits: typed, url, json = false }: Common & Changed,
  io: Io,
): Promise<Outcome> {
  const limits = limitsIn(typed);
  if (limits === null) return misread(typed);
  if (name === undefined && limits === undefined) return wrongUsage('give --name or --limits');
  const connection = connect(url, io.env);
  if (!connection.ok) return connection.refusal;
  const answer = await connection.call('PATCH', pathOf(id), { name, limits });
  if (!answer.ok) return answer.refusal;
  const changed = shownAccount.safeParse(answer.body);
  if (!changed.success) return notUnderstood();
  io.err(`Account ${printable(changed.data.name, NAME_MAX)} is changed.\n`);
  if (json) io.out(`${answer.text}\n`);
  return done;
}

type Limits = Readonly<Record<string, number | null>>;

/** `domains=5000,streams=none`, or `default` for none of its own; null for any other text. The names are the service's to know. */
function limitsIn(typed: string | undefined): Limits | null | undefined {
  if (typed === undefined) return undefined;
  if (typed === 'default') return {};
  const pairs = typed.split(',').map((pair) => /^(\w+)=(none|\d{1,10})$/.exec(pair.trim()));
  if (pairs.some((pair) => pair === null)) return null;
  return Object.fromEntries(
    pairs.map((pair) => [pair?.[1] ?? '', pair?.[2] === 'none' ? null : Number(pair?.[2])]),
  );
}

function misread(typed = ''): Outcome {
  return wrongUsage(`--limits ${printable(typed, NAME_MAX)}: not as in domains=5000,streams=none`);
}

function pathOf(id: string): string {
  return `/v1/accounts/${encodeURIComponent(id)}`;
}

/** Closes an account. Prints nothing on standard output. */
export async function close(id: string, { url }: Common, io: Io): Promise<Outcome> {
  const connection = connect(url, io.env);
  if (!connection.ok) return connection.refusal;
  const answer = await connection.call('DELETE', pathOf(id));
  if (!answer.ok) return answer.refusal;
  io.err(`Account ${printable(id, NAME_MAX)} is closed.\n`);
  return done;
}

/** What the command line reads of an account; what a later version adds is passed over. Times are RFC 3339. */
const shownAccount = z.object({
  id: z.string(),
  name: z.string(),
  createdAt: z.string(),
  closedAt: z.nullable(z.string()),
});

/** For each limit how much of it is used; null: nobody counts, or there is no limit. */
const shownUsage = z.record(
  z.string(),
  z.object({ used: z.nullable(z.bigint()), limit: z.nullable(z.bigint()) }),
);
