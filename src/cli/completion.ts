/** Shell completion that works from a checkout, where `signpost` is a file and not on the PATH. */
import { fileURLToPath } from 'node:url';
import { script } from '@bomb.sh/tab';
import tab from '@bomb.sh/tab/commander';
import { projectRoot } from '../config/root-folder.ts';
import type { Io, Program } from './command.ts';

type Shell = 'bash' | 'zsh' | 'fish' | 'powershell';

/** Call it last: it describes the commands of `program`. */
export function defineCompletion(program: Program, io: Io): void {
  // The cast bridges the typings of two packages.
  tab(program as unknown as Parameters<typeof tab>[0], { completionCommandName: 'completion' });
  program.commands
    .find((one) => one.name() === 'completion')
    ?.description('print a shell completion script; it also defines signpost for the shell')
    .action((...[shell]: unknown[]) => io.out(completionScript(String(shell))));
}

/** Can be sourced again. Defines `signpost` for the shell, unless there is such a command. */
function completionScript(shell: string): string {
  const program = fileURLToPath(new URL('bin/signpost.mjs', projectRoot));
  const command = `node ${quoted(program)}`;
  // A second `readonly` of the same name is an error in bash.
  const completion = printedBy(() => script(shell, 'signpost', command)).replace(
    /^readonly /gm,
    '',
  );
  return `${completion}\n${functionFor[shell as Shell](command)}\n`;
}

const functionFor: Readonly<Record<Shell, (command: string) => string>> = {
  bash: posix,
  zsh: posix,
  fish: (command) => `type -q signpost; or function signpost; ${command} $argv; end`,
  powershell: (command) =>
    `if (-not (Get-Command signpost -ErrorAction SilentlyContinue)) { function global:signpost { & ${command} @args } }`,
};

function posix(command: string): string {
  return `type signpost >/dev/null 2>&1 || signpost() { ${command} "$@"; }`;
}

function quoted(path: string): string {
  return `'${path.replaceAll("'", "'\\''")}'`;
}

/** The library only prints. */
function printedBy(act: () => void): string {
  const lines: unknown[] = [];
  const { log } = console;
  console.log = (line) => void lines.push(line);
  try {
    act();
  } finally {
    console.log = log;
  }
  return lines.join('\n');
}
