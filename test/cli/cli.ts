/** The command line as a shell runs it. */
import { execFile } from 'node:child_process';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';

/** What a shell would run, compiled. */
export const program = fileURLToPath(new URL('../../dist/src/cli/main.js', import.meta.url));

export type Ran = { readonly code: number; readonly stdout: string; readonly stderr: string };

/** Runs `signpost …` with nothing in its environment but `env`, in a folder without an .env; never rejects. */
export function signpost(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  cwd = tmpdir(),
): Promise<Ran> {
  return startCommand(args, env, cwd).ended;
}

/** The same, for what takes its time: `said` has what standard error has so far. */
export function startCommand(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  cwd = tmpdir(),
): { readonly said: () => string; readonly ended: Promise<Ran> } {
  let said = '';
  const ended = new Promise<Ran>((resolve) => {
    const options = { cwd, env: { PATH: process.env['PATH'], ...env } };
    const command = [program, ...args];
    const child = execFile(process.execPath, command, options, (fault, stdout, stderr) => {
      resolve({ code: fault === null ? 0 : Number(fault.code), stdout, stderr });
    });
    child.stderr?.on('data', (text: string) => {
      said += text;
    });
  });
  return { said: () => said, ended };
}
