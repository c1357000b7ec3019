/** `signpost keys revoke`: the end of a key. */

import { connect } from '../client.ts';
import { type Command, done, parseOptions } from '../command.ts';
import { keyIdOf, missingKeyId } from './key-id.ts';

export const revoke: Command = {
  synopsis: '<id>',
  summary: 'end a key, everywhere within 5 seconds',
  async run(args, io) {
    const options = { url: { type: 'string' }, json: { type: 'boolean' } } as const;
    const parsed = parseOptions(args, options, { count: 1, tooFew: missingKeyId });
    if (!parsed.ok) return parsed.refusal;
    const key = keyIdOf(parsed.positionals[0]);
    if (!key.ok) return key.refusal;
    const connection = connect(parsed.values.url, io.env);
    if (!connection.ok) return connection.refusal;
    const answer = await connection.call('DELETE', `/v1/keys/${encodeURIComponent(key.id)}`);
    if (!answer.ok) return answer.refusal;
    io.err(`Key ${key.id} is revoked.\n`);
    return done;
  },
};
