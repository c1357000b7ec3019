import { InvalidArgumentError, Option } from '@commander-js/extra-typings';
import type { DomainStatus } from '../../core/life/lifecycle.ts';
import { jsonOption, notes, type Program, type Run, urlOption } from '../command.ts';

/** The values of `--status`, checked by the compiler. */
const statuses = [
  'pending',
  'verified',
  'live',
  'drifted',
  'failed',
] as const satisfies readonly DomainStatus[];

/** Implementations are loaded when they run, so that help starts fast. */
export function defineDomains(program: Program, run: Run): void {
  const domains = program
    .command('domains')
    .usage('<command> [options]')
    .description('list, show, verify, add and remove domains')
    .addHelpText('after', whichKey);

  domains
    .command('list')
    .description('show the status of the domains of all projects or of one')
    .addOption(statusOption())
    .option('--project <project>', 'only domains of this project (ID or slug)')
    .addOption(urlOption())
    .addOption(jsonOption())
    .action((options) => run(async (io) => (await import('./show.ts')).listDomains(options, io)));

  defineForOne(domains, run);
}

function defineForOne(domains: Program, run: Run): void {
  const aboutOne = (name: string, summary: string) =>
    domains
      .command(name)
      .description(summary)
      .argument('<hostname>', 'host name; Unicode, upper case and pasted URLs work too')
      .option('--project <project>', 'project (ID or slug), if several have the domain')
      .addOption(urlOption())
      .addOption(jsonOption());

  aboutOne('show', 'show its status, its DNS record, problems and how to fix them')
    .addHelpText('after', liveOrNot)
    .action((hostname, options) =>
      run(async (io) => (await import('./show.ts')).show({ hostname, ...options }, io)),
    );

  aboutOne('verify', 'check it now; with --wait, follow it until it is live or failed')
    .option('--wait', 'follow the domain until it is live or failed')
    .option('--timeout <duration>', 'with --wait: maximum time, for example 45s, 10m or 2h')
    .addHelpText('after', waitedOrNot)
    .action((hostname, options) =>
      run(async (io) => (await import('./verify.ts')).verify({ hostname, ...options }, io)),
    );

  aboutOne('add', 'attach it to a project and show the DNS record to create')
    .option('--upstream <url>', 'if there is no project: create one on the Pro plan for this app')
    .action((hostname, options) =>
      run(async (io) => (await import('./attach.ts')).add({ hostname, ...options }, io)),
    );

  aboutOne(
    'remove',
    'detach it and stop its traffic at once; the record stays the same if it is added again',
  )
    .addOption(
      new Option(
        '--orphans <what>',
        'also remove the settings that point to it, if it is the primary domain or a redirect target',
      ).choices(['drop'] as const),
    )
    .action((hostname, options) =>
      run(async (io) => (await import('./attach.ts')).remove({ hostname, ...options }, io)),
    );
}

function statusOption() {
  return new Option(
    '--status <status>',
    'only domains with this status; separate several with commas',
  )
    .choices(statuses)
    .argParser((list) => list.split(',').map((one) => statusOf(one.trim())));
}

/** Throws InvalidArgumentError for any other text. */
function statusOf(text: string): DomainStatus {
  const status = statuses.find((one) => one === text);
  if (status === undefined) {
    throw new InvalidArgumentError(`Use one of ${statuses.join(', ')}.`);
  }
  return status;
}

const waitedOrNot = notes(
  'With --wait, exit 0: the domain is live and not blocked. Exit 1: it is not live, or blocked. Without --wait, exit 0: the check was requested.',
);

const liveOrNot = notes(
  'Exit 0: the domain is live and not blocked. Exit 1: it is not live, or blocked.',
);

const whichKey = notes(
  'The API key is read from SIGNPOST_API_KEY or API_KEY. list and show require the scope domains:read; verify, add and remove also require domains:write.',
  'Exit 0: success. Exit 1: show or verify --wait found the domain not live, or blocked. Exit 2: bad usage, a refused request, or the service is unreachable.',
);
