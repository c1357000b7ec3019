import { Option } from '@commander-js/extra-typings';
import { scopes } from '../core/operations/scopes.ts';
import { jsonOption, notes, type Program, type Run, urlOption } from './command.ts';

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
    .action((options) => run(async (io) => (await import('./keys.ts')).listKeys(options, io)));

  keys
    .command('create')
    .description('create a key and print its token')
    .addHelpText(
      'after',
      notes(
        'Standard output contains only the token, so you can capture it: KEY=$(signpost keys create --name shop --scope pets:read,pets:write)',
      ),
    )
    .requiredOption('--name <name>', 'label of the key')
    .addOption(scopeOption().makeOptionMandatory())
    .option('--account <id>', 'account that gets the key; it then reaches only this account')
    .option(
      '--project <id>',
      'restrict the key to this project of the account; repeat the option for more',
      (id: string, before: readonly string[] = []) => [...before, id],
    )
    .option(
      '--expires <when>',
      'expiry: after 90d, 12h, 30m or 45s, or at a time such as 2027-01-01T00:00:00Z',
    )
    .addOption(urlOption())
    .addOption(jsonOption())
    .action((options) => run(async (io) => (await import('./keys.ts')).create(options, io)));

  defineForOneKey(keys, run);
}

function defineForOneKey(keys: Program, run: Run): void {
  keys
    .command('rotate')
    .description('replace a key and print the new token; both keys work for a while')
    .argument('<id>', whichId)
    .option(
      '--grace <how long>',
      'how long the old key keeps working: 24h, 30m, 7d, or 0 to end it at once',
      '24h',
    )
    .addOption(urlOption())
    .addOption(jsonOption())
    .action((id, options) =>
      run(async (io) => (await import('./keys.ts')).rotate(id, options, io)),
    );

  keys
    .command('revoke')
    .description('revoke a key; it stops working everywhere within 5 seconds')
    .argument('<id>', whichId)
    .addOption(urlOption())
    .action((id, options) =>
      run(async (io) => (await import('./keys.ts')).revoke(id, options, io)),
    );
}

/** Used for shell completion; the service validates scopes. */
function scopeOption() {
  const what = 'permission of the key; separate several with commas or repeat the option';
  return new Option('--scope <scope>', what)
    .choices(scopes)
    .argParser<string[]>((list, before = []) => [
      ...before,
      ...list.split(',').map((one) => one.trim()),
    ]);
}

const whichId = 'ID as shown by list, with or without the prefix signpost_';

const whichKey = notes(
  'The API key, with the scope admin (of an account: keys:read and keys:write), is read from SIGNPOST_API_KEY or API_KEY, because arguments are visible in process lists.',
  'Exit 0: success. Exit 2: bad usage, a refused request, or the service is unreachable.',
);
