import { z } from 'zod';
import { type Call, connect } from '../client.ts';
import { type CliExit, exitDone, exitFailed, type Io, wrongUsage } from '../command.ts';
import { plain } from '../layout.ts';
import { shownDomain, shownProject, understood } from '../shown.ts';
import { showDomain } from './show.ts';
import { type About, projectsIn, readHostname, whichDomain, whichProject } from './which.ts';

/** With `json`, prints the API's response. An attached host name is `failed`. */
export async function add(
  { hostname: typed, project, url, json, upstream }: About & { readonly upstream?: string },
  io: Io,
): Promise<CliExit> {
  const connection = connect(url, io.env);
  if (!connection.ok) return connection.refusal;
  if (upstream !== undefined) {
    const made = await firstProject(connection.call, { typed, name: project, upstream }, io);
    if (!made.ok) return made.refusal;
  }
  const found = await whichProject(connection.call, { hostname: typed, project });
  if (!found.ok) return found.refusal;
  const { hostname, projectPath } = found.which;
  const answer = await connection.call('POST', `${projectPath}/domains`, { hostname });
  const added = understood(answer, shownDomain);
  if (!added.ok) {
    return added.code === 'domain_exists'
      ? exitFailed(`${hostname} is already attached. To see it: signpost domains show ${hostname}`)
      : added.refusal;
  }
  if (json) {
    io.out(`${added.text}\n`);
    return exitDone;
  }
  const shown = await showDomain(connection.call, found.which, false, io);
  if (!shown.ok) return shown.refusal;
  io.err(
    `Create this record. The rest happens automatically. To follow it: signpost domains verify ${hostname} --wait\n`,
  );
  return exitDone;
}

type First = {
  readonly typed: string;
  /** The slug of the project. */
  readonly name: string | undefined;
  readonly upstream: string;
};

/** Refuses if there is a project, whose deploy it must not replace. A refused deploy leaves none. */
async function firstProject(
  call: Call,
  { typed, name: slug = 'default', upstream }: First,
  io: Io,
) {
  const read = await readHostname(call, typed);
  if (!read.ok) return read;
  const all = await projectsIn(call);
  if (!all.ok) return all;
  if (all.projects.length > 0) {
    return { ok: false, refusal: wrongUsage('--upstream is only for the first project') } as const;
  }
  const body = { name: slug, slug, plan: 'pro' };
  const made = understood(await call('POST', '/v1/projects', body), shownProject);
  if (!made.ok) return made;
  const path = `/v1/projects/${encodeURIComponent(made.value.id)}`;
  const deployed = await call('POST', `${path}/deploys`, { status: 'succeeded', upstream });
  const answer = understood(deployed, reportedDeploy);
  if (!answer.ok) {
    await call('DELETE', path);
    return answer;
  }
  for (const { message } of answer.value.warnings) io.err(`signpost: ${plain(message)}\n`);
  return answer;
}

const reportedDeploy = z.object({ warnings: z.array(z.object({ message: z.string() })) });

/** Traffic stops at once. Without `orphans`, a domain that settings point to is refused. */
export async function remove(
  { hostname: typed, project: named, url, orphans }: About & { readonly orphans?: 'drop' },
  io: Io,
): Promise<CliExit> {
  const connection = connect(url, io.env);
  if (!connection.ok) return connection.refusal;
  const found = await whichDomain(connection.call, { hostname: typed, project: named });
  if (!found.ok) return found.refusal;
  const { hostname, path, project } = found.which;
  const query = orphans === undefined ? '' : '?orphans=drop';
  const answer = await connection.call('DELETE', `${path}${query}`);
  if (!answer.ok) {
    const { code, message = '' } = answer;
    return code === 'domain_in_use'
      ? exitFailed(`${message.replace('?orphans=drop', '--orphans drop')} (${code})`)
      : answer.refusal;
  }
  io.err(`${hostname} was removed from ${project.slug}. Its traffic has stopped.\n`);
  return exitDone;
}
