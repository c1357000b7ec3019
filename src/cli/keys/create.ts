/** `signpost keys create`: a new key, its token alone on standard output. */

import { connect } from '../client.ts';
import { type Command, parseOptions, wrongUsage } from '../command.ts';
import { durationMs } from '../duration.ts';
import { showMinted } from './minted.ts';

export const create: Command = {
  synopsis: '--name <name> --scope <scope> [--expires <when>] [--json]',
  summary: 'create a key and print its token',
  async run(args, io) {
    const options = {
      name: { type: 'string' },
      scope: { type: 'string', multiple: true },
      expires: { type: 'string' },
      url: { type: 'string' },
      json: { type: 'boolean' },
    } as const;
    const parsed = parseOptions(args, options, { count: 0 });
    if (!parsed.ok) return parsed.refusal;
    const { name, scope = [], expires, url, json = false } = parsed.values;
    const scopes = scope.flatMap((list) => list.split(',')).map((one) => one.trim());
    if (name === undefined) return wrongUsage('--name is needed: what is the key for?');
    if (scopes.length === 0) return wrongUsage('--scope is needed: what may the key do?');
    const expiresAt = expires === undefined ? undefined : timeOf(expires, io.now());
    if (expiresAt === null) return wrongUsage(`--expires ${expires}: neither 90d nor a time`);
    const connection = connect(url, io.env);
    if (!connection.ok) return connection.refusal;
    const answer = await connection.call('POST', '/v1/keys', { name, scopes, expiresAt });
    return answer.ok ? showMinted(answer, json, io) : answer.refusal;
  },
};

/** A time is left for the service to read. */
function timeOf(expires: string, now: Date): string | null {
  if (/^\d{4}-/.test(expires)) return expires;
  const ms = durationMs(expires);
  return ms === null ? null : new Date(now.getTime() + ms).toISOString();
}
