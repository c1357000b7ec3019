import { type Call, connect } from '../client.ts';
import { type CliExit, exitDone, exitFailed, type Io } from '../command.ts';
import { shownDomain, understood } from '../shown.ts';
import { showDomain } from './show.ts';
import { type About, chosenProject, projectsIn, whichDomain, whichProject } from './which.ts';

/** With `json`, prints the API's response. An attached host name is `failed`. */
export async function add(
  { hostname: typed, project, url, json, upstream }: About & { readonly upstream?: string },
  io: Io,
): Promise<CliExit> {
  const connection = connect(url, io.env);
  if (!connection.ok) return connection.refusal;
  if (upstream !== undefined) {
    const deployed = await deploy(connection.call, project, upstream);
    if (!deployed.ok) return deployed.refusal;
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

/** Reports a deploy of the chosen project, or of a new one if there is none. Never rejects. */
async function deploy(call: Call, name: string | undefined, upstream: string) {
  const all = await projectsIn(call);
  if (!all.ok) return all;
  if (all.projects.length === 0) {
    const slug = name ?? 'default';
    const made = await call('POST', '/v1/projects', { name: slug, slug, plan: 'pro' });
    if (!made.ok) return made;
  }
  const chosen = await chosenProject(call, name);
  if (!chosen.ok) return chosen;
  const path = `/v1/projects/${encodeURIComponent(chosen.project.id)}/deploys`;
  return call('POST', path, { status: 'succeeded', upstream });
}

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
