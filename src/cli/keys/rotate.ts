/** `signpost keys rotate`: a successor, its token alone on standard output. */

import { connect } from '../client.ts';
import { type Command, parseOptions, wrongUsage } from '../command.ts';
import { durationMs } from '../duration.ts';
import { keyIdOf, missingKeyId } from './key-id.ts';
import { showMinted } from './minted.ts';

export const rotate: Command = {
  synopsis: '<id> [--grace <how long>] [--json]',
  summary: 'replace a key and print the token of the new one; both work for a while',
  async run(args, io) {
    const options = {
      grace: { type: 'string', default: '24h' },
      url: { type: 'string' },
      json: { type: 'boolean' },
    } as const;
    const parsed = parseOptions(args, options, { count: 1, tooFew: missingKeyId });
    if (!parsed.ok) return parsed.refusal;
    const { grace, url, json = false } = parsed.values;
    const key = keyIdOf(parsed.positionals[0]);
    if (!key.ok) return key.refusal;
    const graceMs = durationMs(grace);
    if (graceMs === null) return wrongUsage(`--grace ${grace}: must be such as 24h, 30m or 0`);
    const connection = connect(url, io.env);
    if (!connection.ok) return connection.refusal;
    const path = `/v1/keys/${encodeURIComponent(key.id)}/rotate`;
    const answer = await connection.call('POST', path, { graceSeconds: graceMs / 1_000 });
    if (!answer.ok) return answer.refusal;
    const left = graceMs === 0 ? 'has ended' : `works for ${grace} more, or until its own end`;
    return showMinted(answer, json, io, `It replaces ${key.id}, which ${left}.\n`);
  },
};
