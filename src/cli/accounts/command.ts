import { jsonOption, notes, type Program, type Run, urlOption } from '../command.ts';

export function defineAccounts(program: Program, run: Run): void {
  const accounts = program
    .command('accounts')
    .usage('[command] [options]')
    .description('list, create, change and close the accounts of a running service')
    .addHelpText('after', whichKey);

  accounts
    .command('list', { isDefault: true })
    .description('show all accounts, oldest first')
    .addOption(urlOption())
    .addOption(jsonOption())
    .action((options) =>
      run(async (io) => (await import('./accounts.ts')).listAccounts(options, io)),
    );

  accounts
    .command('show')
    .description('show an account, and what it uses of its limits')
    .argument('<id>', whichId)
    .addOption(urlOption())
    .addOption(jsonOption('print the response of GET /v1/accounts/{accountId}/usage'))
    .action((id, options) =>
      run(async (io) => (await import('./accounts.ts')).showAccount(id, options, io)),
    );

  defineChanges(accounts, run);
}

function defineChanges(accounts: Program, run: Run): void {
  accounts
    .command('create')
    .description('create an account and print its ID')
    .requiredOption('--name <name>', 'display name of the account')
    .option(...limitOption)
    .addOption(urlOption())
    .addOption(jsonOption())
    .action((options) =>
      run(async (io) => (await import('./accounts.ts')).addAccount(options, io)),
    );

  accounts
    .command('update')
    .description('change the name or limits of an account')
    .argument('<id>', whichId)
    .option('--name <name>', 'display name of the account')
    .option(...limitOption)
    .addOption(urlOption())
    .addOption(jsonOption())
    .action((id, options) =>
      run(async (io) => (await import('./accounts.ts')).changeAccount(id, options, io)),
    );

  accounts
    .command('close')
    .description('close an account for good; its keys stop working within 5 seconds')
    .argument('<id>', whichId)
    .option('--delete-projects', 'also delete its projects, and the domains that are live')
    .addOption(urlOption())
    .action((id, options) =>
      run(async (io) => (await import('./accounts.ts')).closeAccount(id, options, io)),
    );
}

const limitOption = [
  '--limit <name=value>',
  'a limit such as domains=5000, or domains=usual to reset it; repeat the option for more',
  (given: string, before: readonly string[] = []) => [...before, given],
] as const;

const whichId = 'ID of the account, as shown by list';

const whichKey = notes(
  'The API key, with the scope admin, is read from SIGNPOST_API_KEY or API_KEY. With SIGNPOST_ACCOUNT, the other commands act for this account.',
  'Exit 0: success. Exit 2: bad usage, a refused request, or the service is unreachable.',
);
