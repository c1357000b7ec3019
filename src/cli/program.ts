/** The commands, their options and their help. What each one does is loaded when it runs: the demo brings the service. */
import { readFileSync } from 'node:fs';
import tab from '@bomb.sh/tab/commander';
import { Command } from '@commander-js/extra-typings';
import { projectRoot } from '../db/engine/migrate.ts';
import { type Io, notes, type Program, type Run } from './command.ts';
import { defineDemo } from './demo/command.ts';
import { defineDoctor } from './doctor/command.ts';
import { defineDomains } from './domains/command.ts';
import { defineKeys } from './keys/command.ts';
import { columnsFor, createPaint, wantsColour } from './layout.ts';
import { defineRotateKeys } from './rotate-keys/command.ts';
import { defineZone } from './zone/command.ts';

/** `settle` gets the outcome of the one command that runs. Mistakes of whoever typed are thrown, as CommanderError. */
export function createProgram(
  io: Io,
  settle: (outcome: Awaited<ReturnType<Act>>) => void,
): Program {
  const run: Run = async (act) => {
    io.readEnvFile();
    settle(await act(io));
  };
  const program: Program = new Command('signpost');
  program
    .usage('<command> [options]')
    .version(version(), '-v, --version', 'show which version this is')
    .helpOption('-h, --help', 'show this help')
    .helpCommand('help [command]', 'show the help of a command')
    .exitOverride()
    .configureOutput({
      writeOut: io.out,
      writeErr: io.err,
      outputError: () => {}, // signpost.ts says it
      getOutHelpWidth: () => columnsFor(io.screen.columns),
      getErrHelpWidth: () => columnsFor(io.screen.columns),
      getOutHasColors: () => true, // styleTitle decides
      getErrHasColors: () => true,
    })
    .configureHelp({ styleTitle: (title) => paint('bold', title) })
    .addHelpText('after', exitCodes);
  const paint = createPaint(wantsColour(io.env, io.screen.out));
  // The demo is a platform of its own: another one's .env is not for it.
  defineDemo(program, async (act) => settle(await act(io)));
  for (const define of [defineDoctor, defineDomains, defineKeys, defineRotateKeys, defineZone]) {
    define(program, run);
  }
  // `signpost completion bash|zsh|fish|powershell`. It writes past `io`, to the process's own output.
  // The typings are another package's; the object is the library's own.
  tab(program as unknown as Parameters<typeof tab>[0], { completionCommandName: 'completion' });
  program.commands
    .find((one) => one.name() === 'completion')
    ?.description('print the script by which a shell completes commands and options');
  return program;
}

type Act = Parameters<Run>[0];

const exitCodes = notes(
  'Exit 0: it worked. Exit 1: check failed. Exit 2: bad usage, a refused request, or no answer.',
);

/** As package.json has it. */
function version(): string {
  const text = readFileSync(new URL('package.json', projectRoot), 'utf8');
  const parsed: { readonly version: string } = JSON.parse(text);
  return parsed.version;
}
