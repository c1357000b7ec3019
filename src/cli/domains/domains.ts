/** `signpost domains`: a client of the HTTP API, for whoever publishes a domain from a shell. */
import { connect } from '../client.ts';
import {
  type Command,
  done,
  failed,
  type Io,
  listing,
  type Outcome,
  runGroup,
  wrongUsage,
} from '../command.ts';
import { parseAbout } from './about.ts';
import { list } from './list.ts';
import { show, showDomain } from './show.ts';
import { shownDomain, understood } from './shown.ts';
import { verify } from './verify.ts';
import { whichDomain, whichProject } from './which.ts';

const add: Command = {
  synopsis: '<hostname>',
  summary: 'attach it to a project and show the DNS record to create',
  async run(args, io) {
    const parsed = parseAbout(args, {});
    if (!parsed.ok) return parsed.refusal;
    const { hostname: typed, project, url, json } = parsed;
    const connection = connect(url, io.env);
    if (!connection.ok) return connection.refusal;
    const found = await whichProject(connection.call, { hostname: typed, project });
    if (!found.ok) return found.refusal;
    const { hostname, projectPath } = found.which;
    const answer = await connection.call('POST', `${projectPath}/domains`, { hostname });
    const added = understood(answer, shownDomain);
    if (!added.ok) {
      return added.code === 'domain_exists'
        ? failed(`${hostname} is attached already: signpost domains show ${hostname}`)
        : added.refusal;
    }
    if (json) {
      io.out(`${added.text}\n`);
      return done;
    }
    const shown = await showDomain(connection.call, found.which, false, io);
    if (!shown.ok) return shown.refusal;
    io.err(
      `Create the record; the rest happens automatically. To wait for it: signpost domains verify ${hostname} --wait\n`,
    );
    return done;
  },
};

const remove: Command = {
  synopsis: '<hostname>',
  summary: 'detach it: its traffic stops at once; added again, it has the same record',
  async run(args, io) {
    const parsed = parseAbout(args, { orphans: { type: 'string' } });
    if (!parsed.ok) return parsed.refusal;
    const { orphans } = parsed.given;
    if (orphans !== undefined && orphans !== 'drop') {
      return wrongUsage('--orphans takes one value, drop: the settings that lead to it go with it');
    }
    const connection = connect(parsed.url, io.env);
    if (!connection.ok) return connection.refusal;
    const found = await whichDomain(connection.call, parsed);
    if (!found.ok) return found.refusal;
    const { hostname, path, project } = found.which;
    const query = orphans === undefined ? '' : '?orphans=drop';
    const answer = await connection.call('DELETE', `${path}${query}`);
    if (!answer.ok) {
      const { code, message = '' } = answer;
      return code === 'domain_in_use'
        ? failed(`${message.replace('?orphans=drop', '--orphans drop')} (${code})`)
        : answer.refusal;
    }
    io.err(`${hostname} is removed from ${project.slug}; its traffic has stopped.\n`);
    return done;
  },
};

const commands: Readonly<Record<string, Command>> = { list, show, verify, add, remove };

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

Exit 0: done; for show and verify --wait, the domain is live and nothing blocks it. Exit 1: check failed: those two found
it not live, or blocked. Exit 2: bad usage, a refused request, or the service is unreachable.
`;

/** Runs one of them, or shows which there are. */
export function runDomains(args: readonly string[], io: Io): Promise<Outcome> {
  return runGroup({ name: 'domains', commands, usage }, args, io);
}
