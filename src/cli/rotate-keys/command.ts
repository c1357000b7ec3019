/** `signpost rotate-keys`: its options and its help. */
import { notes, type Program, type Run } from '../command.ts';

export function defineRotateKeys(program: Program, run: Run): void {
  program
    .command('rotate-keys')
    .description('reseal what is stored with the first key of KEY_ENCRYPTION_KEY')
    .option('--check', 'change nothing, say what is sealed with which key')
    .addHelpText(
      'after',
      notes(
        'That is: the keys of certificates, accounts and the local authority, the secrets of webhooks, and the derived secrets. Run it while the service runs, once every process has the new key first; docs/operations.md has the whole of it (“A new key encryption key”).',
        'KEY_ENCRYPTION_KEY (the new key, a comma, the key of before) and DATABASE_URL are the service’s own, from the environment or .env; never arguments, which show in lists of processes. On embedded storage stop the service first. It may be stopped at any moment and run again: what is done stays done.',
        'Exit 0: no key but the first is needed any more. Exit 1: another one still is. Exit 2: bad usage, or that could not be found out.',
      ),
    )
    .action((options) =>
      run(async (io) => {
        const { runRotateKeys } = await import('./rotate-keys.ts');
        return runRotateKeys(options, io);
      }),
    );
}
