/** `signpost keys`: a client of the HTTP API, so it works on every storage while the service runs. */
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
import { create } from './create.ts';
import { list } from './list.ts';
import { revoke } from './revoke.ts';
import { rotate } from './rotate.ts';

const commands: Readonly<Record<string, Command>> = { list, create, rotate, revoke };

/** Runs one of the commands, or shows which there are. */
export async function runKeys([name = '', ...args]: readonly string[], io: Io): Promise<Outcome> {
  if (isHelp(name) || name === 'help' || args.some(isHelp)) {
    io.out(usage);
    return done;
  }
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (command !== undefined) {
    const outcome = await command.run(args, io);
    if (outcome.kind === 'wrong_usage') {
      io.err(`Usage: signpost keys ${name} ${command.synopsis}\n`);
    }
    return outcome;
  }
  if (name === '') {
    io.err(usage);
    return wrongUsage('which command?');
  }
  io.err('Usage: signpost keys <command>; signpost keys help lists them\n');
  return noSuchCommand(name, 'keys ', Object.keys(commands));
}

const usage = `Usage: signpost keys <command>

${listing('', commands)}
  --url <url>   where the service is; else SIGNPOST_URL, else http://127.0.0.1:3000
  --json        the service's own answer on standard output

The key to call with, one with the scope admin, is taken from SIGNPOST_API_KEY or API_KEY: arguments show in
lists of processes. The token of a new key is all that goes to standard output, so that KEY=$(signpost keys
create --name shop --scope pets:read,pets:write) holds it.

  <scope>       pets:read, pets:write, domains:read, domains:write, ops:read or admin; several with
                commas, or --scope again
  <when>        90d, 12h, 30m or 45s from now, or a time such as 2027-01-01T00:00:00Z
  <how long>    24h, 30m, 7d, or 0 to end the old key at once; 24h where it is left out
  <id>          as list shows it, or with signpost_ before it

Ends with 0 where it is done, with 2 where it was not understood, or the service refused or is away.
`;
