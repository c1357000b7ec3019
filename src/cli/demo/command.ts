/** `signpost demo`: the tour of demo.ts, for whoever is at the shell. */
import { done, notes, type Program, type Run } from '../command.ts';

/** Between two acts, ms: long enough to read one. A pipe does not read along. */
const PAUSE_MS = 2_000;

export function defineDemo(program: Program, run: Run): void {
  program
    .command('demo')
    .description(
      'watch a customer’s domain go live on this machine, with the classic mistakes on the way',
    )
    .addHelpText(
      'after',
      notes(
        'It starts a service, a name server and a project’s deploy on ports of their own, and plays a customer until the domain is live. It takes less than half a minute, leaves nothing behind and touches no running service.',
        'Exit 0: the domain went live. Exit 1: it did not.',
      ),
    )
    .action(() =>
      run(async ({ out, screen }) => {
        out('Starting Signpost, a name server and a deploy on this machine …\n\n');
        // Only now: it brings the whole service with it, which takes seconds.
        const { runDemo } = await import('./demo.ts');
        await runDemo((line) => out(`${line}\n`), screen.out ? PAUSE_MS : 0);
        return done;
      }),
    );
}
