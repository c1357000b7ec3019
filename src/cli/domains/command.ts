/** `signpost domains`: its commands, their options and their help. */
import { InvalidArgumentError, Option } from '@commander-js/extra-typings';
import type { DomainStatus } from '../../core/life/lifecycle.ts';
import { jsonOption, notes, type Program, type Run, urlOption } from '../command.ts';

/** The only ones that `--status` takes; the compiler checks that each of them is one. */
const statuses = [
  'pending',
  'verified',
  'live',
  'drifted',
  'failed',
] as const satisfies readonly DomainStatus[];

/** Adds `domains` and its commands. What a command does is loaded when it runs, so that help needs none of it. */
export function defineDomains(program: Program, run: Run): void {
  const domains = program
    .command('domains')
    .usage('<command> [options]')
    .description('list, show, verify, add and remove domains: their status and what to do')
    .addHelpText('after', whichKey);

  domains
    .command('list')
    .description('show the status of each domain, of all projects or of one')
    .addOption(statusOption())
    .option('--project <project>', 'only its domains: an id or a slug')
    .addOption(urlOption())
    .addOption(jsonOption())
    .action((options) => run(async (io) => (await import('./show.ts')).list(options, io)));

  defineForOne(domains, run);
}

/** The commands that are about one domain. */
function defineForOne(domains: Program, run: Run): void {
  const aboutOne = (name: string, summary: string) =>
    domains
      .command(name)
      .description(summary)
      .argument('<hostname>', 'in any spelling: Unicode, upper case, a pasted URL')
      .option('--project <project>', 'its project where several have it: an id or a slug')
      .addOption(urlOption())
      .addOption(jsonOption());

  aboutOne('show', 'show its status, the DNS record to create, what is wrong and what to do')
    .addHelpText('after', liveOrNot)
    .action((hostname, options) =>
      run(async (io) => (await import('./show.ts')).show({ hostname, ...options }, io)),
    );

  aboutOne('verify', 'check it now; with --wait, follow it until it is live or has failed')
    .option('--wait', 'follow the domain until it is live or has failed')
    .option('--timeout <duration>', 'with --wait: no longer than 45s, 10m or 2h, say')
    .addHelpText('after', liveOrNot)
    .action((hostname, options) =>
      run(async (io) => (await import('./verify.ts')).verify({ hostname, ...options }, io)),
    );

  aboutOne('add', 'attach it to a project and show the DNS record to create').action(
    (hostname, options) =>
      run(async (io) => (await import('./attach.ts')).add({ hostname, ...options }, io)),
  );

  aboutOne('remove', 'detach it: its traffic stops at once; added again, it has the same record')
    .addOption(
      new Option(
        '--orphans <what>',
        'even where it is the primary domain or others redirect to it: those settings go with it',
      ).choices(['drop'] as const),
    )
    .action((hostname, options) =>
      run(async (io) => (await import('./attach.ts')).remove({ hostname, ...options }, io)),
    );
}

function statusOption() {
  return new Option('--status <status>', 'only those with it; several with commas')
    .choices(statuses)
    .argParser((list) => list.split(',').map((one) => statusOf(one.trim())));
}

/** Throws InvalidArgumentError for any other text, which the program reports as wrong usage. */
function statusOf(text: string): DomainStatus {
  const status = statuses.find((one) => one === text);
  if (status === undefined) {
    throw new InvalidArgumentError(`It must be one of ${statuses.join(', ')}.`);
  }
  return status;
}

const liveOrNot = notes(
  'Exit 0: the domain is live and nothing blocks it. Exit 1: it is not live, or blocked.',
);

const whichKey = notes(
  'The key to call with is taken from SIGNPOST_API_KEY or API_KEY. list and show need the scope domains:read; verify, add and remove need domains:write as well.',
  'Exit 0: done. Exit 1: show or verify --wait found the domain not live, or blocked. Exit 2: bad usage, a refused request, or the service is unreachable.',
);
