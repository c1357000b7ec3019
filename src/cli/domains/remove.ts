/** `signpost domains remove`: detaches a domain; its traffic stops at once. */
import { connect } from '../client.ts';
import { type Command, done, failed, wrongUsage } from '../command.ts';
import { parseAbout } from './about.ts';
import { whichDomain } from './which.ts';

export const remove: Command = {
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
