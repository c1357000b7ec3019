/** `signpost demo`: the tour of demo.ts, for whoever is at the shell. */
import { done, type Io, isHelp, type Outcome, parseOptions } from '../command.ts';

/** Long enough to read an act. A pipe does not read along. */
const PAUSE_MS = 2_000;

export async function runDemoCommand(args: readonly string[], io: Io): Promise<Outcome> {
  if (args[0] === 'help' || args.some(isHelp)) {
    io.out(usage);
    return done;
  }
  const parsed = parseOptions(args, {}, { count: 0 });
  if (!parsed.ok) {
    io.err('Usage: signpost demo\n');
    return parsed.refusal;
  }
  io.out('Starting Signpost, a name server and a deploy on this machine …\n\n');
  // Only now: it brings the whole service with it, which takes seconds.
  const { runDemo } = await import('./demo.ts');
  await runDemo((line) => io.out(`${line}\n`), io.screen.out ? PAUSE_MS : 0);
  return done;
}

const usage = `Usage: signpost demo

Starts a service, a name server and a project's deploy on this machine, on ports of their own, and plays a customer
who makes the classic mistakes until the domain is live. Takes less than half a minute; nothing is left behind, and no
running service is touched.

Exit 0: the domain went live. Exit 1: it did not.
`;
