/** `signpost fleet`: the processes of a running installation, through its API. */

import { z } from 'zod';
import { printable } from '../../core/names/printable.ts';
import { connect } from '../client.ts';
import { type CliExit, exitDone, exitFailed, type Io } from '../command.ts';
import { notUnderstood } from '../keys.ts';
import { inColumns, toSeconds } from '../layout.ts';

type Common = { readonly url?: string; readonly json?: boolean };

/** Unknown fields are ignored. Times are RFC 3339. */
const shownProcess = z.object({
  id: z.string(),
  role: z.string(),
  host: z.string(),
  pid: z.bigint(),
  version: z.string(),
  state: z.string(),
  startedAt: z.string(),
  seenAt: z.string(),
  problem: z.nullable(z.string()),
  differs: z.array(z.object({ setting: z.string(), value: z.string(), current: z.string() })),
});
type ShownProcess = z.infer<typeof shownProcess>;

const LENGTH_MAX = 600;

/** Exit code 1 if a configuration differs. */
export async function listProcesses({ url, json }: Common, io: Io): Promise<CliExit> {
  const loaded = await load(url, io);
  if (!loaded.ok) return loaded.refusal;
  const { processes, text } = loaded;
  io.out(json ? `${text}\n` : inColumns([headings, ...processes.map(rowOf)]));
  const troubled = processes.filter((one) => problemsOf(one).length > 0);
  if (!json) for (const one of troubled) io.out(`\n${nameOf(one)}: ${problemsOf(one).join(' ')}\n`);
  return troubled.length === 0 ? exitDone : { kind: 'negative' };
}

const headings = ['ROLE', 'HOST', 'PID', 'STATE', 'VERSION', 'STARTED', 'LAST REPORT'];

function rowOf(shown: ShownProcess): readonly string[] {
  const { role, host, pid, state, version, startedAt, seenAt } = shown;
  const times = [startedAt, seenAt].map(toSeconds);
  return [role, printable(host, 40), String(pid), state, printable(version, 20), ...times];
}

/** `worker on host-a (PID 7)`. */
function nameOf({ role, host, pid }: ShownProcess): string {
  return `${role} on ${printable(host, 40)} (PID ${pid})`;
}

function problemsOf({ problem, differs }: ShownProcess): readonly string[] {
  const texts = differs.map(
    ({ setting, value, current }) => `${setting} is ${value}, not ${current}.`,
  );
  return [...(problem === null ? [] : [problem]), ...texts].map((one) =>
    printable(one, LENGTH_MAX),
  );
}

/** `id`: of a refused process; without it, the one that was refused last. */
export async function acceptConfiguration(
  id: string | undefined,
  { url, json }: Common,
  io: Io,
): Promise<CliExit> {
  const loaded = await load(url, io);
  if (!loaded.ok) return loaded.refusal;
  const refused = loaded.processes.find(
    (one) => one.state === 'refused' && (id ?? one.id) === one.id,
  );
  if (refused === undefined) {
    return exitFailed('no process was refused in the last 15 minutes: signpost fleet lists them');
  }
  const path = `/v1/operations/processes/${encodeURIComponent(refused.id)}/accept`;
  const answer = await loaded.call('POST', path);
  if (!answer.ok) return answer.refusal;
  if (json) io.out(`${answer.text}\n`);
  const where = nameOf(refused);
  io.err(
    `Accepted the settings of ${where}. Start it again, then restart the other processes with them.\n`,
  );
  return exitDone;
}

async function load(url: string | undefined, io: Io) {
  const connection = connect(url, io.env);
  if (!connection.ok) return connection;
  const answer = await connection.call('GET', '/v1/operations/processes');
  if (!answer.ok) return answer;
  const processes = z.array(shownProcess).safeParse(answer.body);
  if (!processes.success) return { ok: false as const, refusal: notUnderstood() };
  return { ok: true as const, processes: processes.data, text: answer.text, call: connection.call };
}
