/** `signpost accounts` and its commands. */
import { jsonOption, notes, type Program, type Run, urlOption } from '../command.ts';

/** Defines the commands. `accounts` alone does nothing: whoever calls it is shown them. */
export function defineAccounts(program: Program, run: Run): void {
  const accounts = program
    .command('accounts')
    .usage('<command> [options]')
    .description('list, show, create, change and close the accounts of a running service')
    .addHelpText('after', whichKey);

  accounts
    .command('list')
    .description('show all accounts, oldest first')
    .addOption(urlOption())
    .addOption(jsonOption())
    .action((options) => run(async (io) => (await import('./accounts.ts')).list(options, io)));

  accounts
    .command('create')
    .description('create an account and print its ID')
    .addHelpText(
      'after',
      notes(
        'The ID is all that goes to standard output, so that ACCOUNT=$(signpost accounts create --name "Example Shop") holds it. Give the account a key with signpost keys create --account "$ACCOUNT".',
      ),
    )
    .requiredOption('--name <name>', 'whose it is')
    .option('--limits <limits>', whichLimits)
    .addOption(urlOption())
    .addOption(jsonOption())
    .action((options) => run(async (io) => (await import('./accounts.ts')).create(options, io)));

  defineForOneAccount(accounts, run);
}

/** The commands that are about one account. */
function defineForOneAccount(accounts: Program, run: Run): void {
  accounts
    .command('show')
    .description('show how much of each of its limits an account uses')
    .argument('<id>', whichId)
    .addOption(urlOption())
    .addOption(jsonOption())
    .action((id, options) =>
      run(async (io) => (await import('./accounts.ts')).show(id, options, io)),
    );

  accounts
    .command('change')
    .description('change the name or the limits of an account')
    .addHelpText(
      'after',
      notes(
        'The limits that are given take the place of all limits of its own; the others follow the configuration. --limits default has all of them follow it.',
      ),
    )
    .argument('<id>', whichId)
    .option('--name <name>', 'whose it is')
    .option('--limits <limits>', whichLimits)
    .addOption(urlOption())
    .addOption(jsonOption())
    .action((id, options) =>
      run(async (io) => (await import('./accounts.ts')).change(id, options, io)),
    );

  accounts
    .command('close')
    .description(
      'refuse its keys, everywhere within 5 seconds; its domains have to be removed first',
    )
    .argument('<id>', whichId)
    .addOption(urlOption())
    .action((id, options) =>
      run(async (io) => (await import('./accounts.ts')).close(id, options, io)),
    );
}

const whichId = 'as list shows it';
const whichLimits = 'such as domains=5000,streams=none; show has their names';

const whichKey = notes(
  'The key to call with, one of the installation with the scope admin, is taken from SIGNPOST_API_KEY or API_KEY. SIGNPOST_ACCOUNT has every other command act for one account.',
  'Exit 0: done. Exit 2: bad usage, a refused request, or the service is unreachable.',
);
