/** `signpost domains`: a client of the HTTP API, for whoever publishes a domain from a shell. */
import {
  type Command,
  done,
  type Io,
  isHelp,
  listing,
  noSuchCommand,
  type Outcome,
  wrongUsage,
} from '../command.ts';
import { add } from './add.ts';
import { list } from './list.ts';
import { remove } from './remove.ts';
import { show } from './show.ts';
import { verify } from './verify.ts';

const commands: Readonly<Record<string, Command>> = { list, show, verify, add, remove };

/** Runs one of the commands, or shows which there are. */
export async function runDomains(
  [name = '', ...args]: readonly string[],
  io: Io,
): Promise<Outcome> {
  if (isHelp(name) || name === 'help' || args.some(isHelp)) {
    io.out(usage);
    return done;
  }
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (command !== undefined) return withUsage(await command.run(args, io), name, command, io);
  if (name === '') {
    io.err(usage);
    return wrongUsage('which command?');
  }
  io.err('Usage: signpost domains <command>; signpost domains help lists them\n');
  return noSuchCommand(name, 'domains ', Object.keys(commands));
}

function withUsage(outcome: Outcome, name: string, { synopsis }: Command, { err }: Io): Outcome {
  if (outcome.kind === 'wrong_usage') {
    err(`Usage: signpost domains ${name} ${synopsis}; signpost domains help has the options\n`);
  }
  return outcome;
}

const usage = `Usage: signpost domains <command>

${listing('', commands)}
  <hostname>         in any spelling: Unicode, upper case, a pasted URL
  --project <…>      the id or slug of its project, where several come into question; list shows one project with it
  --status <status>  of list: only pending, verified, live, drifted or failed ones; several with commas
  --wait             of verify: follow the domain until it is live or has failed
  --timeout <…>      of verify --wait: no longer than 45s, 10m or 2h, say
  --orphans drop     of remove: even where it is the primary domain or others redirect to it, settings that go with it
  --url <url>        where the service is; else SIGNPOST_URL, else http://127.0.0.1:3000
  --json             the API's own JSON on standard output, and nothing else there

The key to call with is taken from SIGNPOST_API_KEY or API_KEY. list and show need the scope domains:read; verify, add
and remove need domains:write as well.

Ends with 0 where it is done and, for show and verify --wait, the domain is live and nothing blocks it; with 1 where
those two found it not live, or blocked; with 2 where it was not understood, or the service refused or is away.
`;
