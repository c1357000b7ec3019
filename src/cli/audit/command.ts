/** `signpost audit`: its options and its help. */
import { jsonOption, notes, type Program, type Run, urlOption } from '../command.ts';

/** Adds `audit`. What it does is loaded when it runs, so that help needs none of it. */
export function defineAudit(program: Program, run: Run): void {
  program
    .command('audit')
    .description('show who changed what, when and from where, the newest first')
    .option('--key <id>', 'only what this key did')
    .option('--project <id>', 'only what was done in this project')
    .option('--operation <operation>', 'only this operation, such as removeDomain')
    .option(
      '--from <when>',
      'from 7d, 12h or 30m ago on, or from a time such as 2026-11-20T12:00:00Z',
    )
    .option('--to <when>', 'before that long ago, or before a time')
    .option('--limit <number>', 'how many entries, 1 to 100; 20 where it is left out')
    .addOption(urlOption())
    .addOption(jsonOption())
    .addHelpText(
      'after',
      notes(
        'A key of an account is shown what was done in its account, one of the installation everything. Entries are kept for 400 days and say nothing of what was in the things that they name.',
        'The key to call with, one with the scope admin, is taken from SIGNPOST_API_KEY or API_KEY: arguments show in lists of processes.',
        'Exit 0: done. Exit 2: bad usage, a refused request, or the service is unreachable.',
      ),
    )
    .action((options) => run(async (io) => (await import('./list.ts')).list(options, io)));
}
