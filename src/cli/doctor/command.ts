/** `signpost doctor`: its options and its help. */
import { jsonOption, notes, type Program, type Run, urlOption } from '../command.ts';

export function defineDoctor(program: Program, run: Run): void {
  program
    .command('doctor')
    .description('check the DNS of a host name: what every server shows, what is wrong, what to do')
    .argument('<hostname>', 'in any spelling: Unicode, upper case, a pasted URL')
    .option(
      '--target <host>',
      'what its record must point to; the check then runs here, without service or key',
    )
    .addOption(urlOption())
    .addOption(jsonOption('the answer of GET /v1/diagnosis/{hostname} on standard output'))
    .addHelpText(
      'after',
      notes(
        'It asks every name server once and says what each answers and who has to act. Nothing is stored and nothing has to be attached.',
        'Without --target the running service is asked, which knows the target of an attached domain. With --target this machine checks, with the DNS_… variables of the service. The key to call the service with, one with the scope domains:read, is taken from SIGNPOST_API_KEY or API_KEY.',
        'Exit 0: set up right. Exit 1: check failed. Exit 2: couldn’t check.',
      ),
    )
    .action((hostname, options) =>
      run(async (io) => {
        const { runDoctor } = await import('./doctor.ts');
        return runDoctor({ hostname, ...options }, io);
      }),
    );
}
