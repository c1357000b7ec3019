/** `signpost keys` and its commands. */
import { Option } from '@commander-js/extra-typings';
import { jsonOption, notes, type Program, type Run, urlOption } from '../command.ts';

/** Defines the commands. `keys` alone does nothing: whoever calls it is shown them. */
export function defineKeys(program: Program, run: Run): void {
  const keys = program
    .command('keys')
    .usage('<command> [options]')
    .description('list, create, rotate and revoke the API keys of a running service')
    .addHelpText('after', whichKey);

  keys
    .command('list')
    .description('show all keys, oldest first')
    .addOption(urlOption())
    .addOption(jsonOption())
    .action((options) => run(async (io) => (await import('./keys.ts')).list(options, io)));

  keys
    .command('create')
    .description('create a key and print its token')
    .addHelpText(
      'after',
      notes(
        'The token is all that goes to standard output, so that KEY=$(signpost keys create --name shop --scope pets:read,pets:write) holds it.',
      ),
    )
    .requiredOption('--name <name>', 'what the key is for')
    .addOption(scopeOption().makeOptionMandatory())
    .option('--account <id>', 'the account that it is of; without it, the installation')
    .addOption(projectOption())
    .option(
      '--expires <when>',
      'in 90d, 12h, 30m or 45s, or at a time such as 2027-01-01T00:00:00Z',
    )
    .addOption(urlOption())
    .addOption(jsonOption())
    .action((options) => run(async (io) => (await import('./keys.ts')).create(options, io)));

  defineForOneKey(keys, run);
}

/** The commands that are about one key. */
function defineForOneKey(keys: Program, run: Run): void {
  keys
    .command('rotate')
    .description('replace a key and print the token of the new one; both work for a while')
    .argument('<id>', whichId)
    .option('--grace <how long>', '24h, 30m, 7d, or 0 to end the old key at once', '24h')
    .addOption(urlOption())
    .addOption(jsonOption())
    .action((id, options) =>
      run(async (io) => (await import('./keys.ts')).rotate(id, options, io)),
    );

  keys
    .command('revoke')
    .description('end a key, everywhere within 5 seconds')
    .argument('<id>', whichId)
    .addOption(urlOption())
    .action((id, options) =>
      run(async (io) => (await import('./keys.ts')).revoke(id, options, io)),
    );
}

/** IDs of projects. */
function projectOption() {
  return new Option(
    '--project <id>',
    'a project of the account that it is for; several with commas, or again',
  ).argParser<string[]>(listed);
}

const scopes = ['pets:read', 'pets:write', 'domains:read', 'domains:write', 'ops:read', 'admin'];

/** The service reads them; completion offers those of this version. */
function scopeOption() {
  return new Option('--scope <scope>', 'what the key may do; several with commas, or again')
    .choices(scopes)
    .argParser<string[]>(listed);
}

function listed(list: string, before: readonly string[] = []): string[] {
  return [...before, ...list.split(',').map((one) => one.trim())];
}

const whichId = 'as list shows it, or with signpost_ before it';

const whichKey = notes(
  'The key to call with, one with the scope admin, is taken from SIGNPOST_API_KEY or API_KEY: arguments show in lists of processes.',
  'Exit 0: done. Exit 2: bad usage, a refused request, or the service is unreachable.',
);
