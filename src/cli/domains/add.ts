/** `signpost domains add`: attaches a domain, and shows the record to create. */
import { connect } from '../client.ts';
import { type Command, done, failed } from '../command.ts';
import { parseAbout } from './about.ts';
import { showDomain } from './show.ts';
import { shownDomain, understood } from './shown.ts';
import { whichProject } from './which.ts';

export const add: Command = {
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
