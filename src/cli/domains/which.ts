/** The domain that a command is about: its name in any spelling, and the project that it is attached to. */
import { z } from 'zod';
import { printable, shortList } from '../../core/names/printable.ts';
import { type Call, everyPage } from '../client.ts';
import { failed, type Outcome, wrongUsage } from '../command.ts';
import { plain } from '../layout.ts';
import { validHostname } from '../lines.ts';
import { type ProjectShown, shownProject, shownReading, understood } from '../shown.ts';

type Refused = { readonly ok: false; readonly refusal: Outcome };

/** An attached domain, or a name and the project that it is to be attached to. */
export type Which = {
  /** As the DNS has it: A-labels in lower case. */
  readonly hostname: string;
  readonly project: ProjectShown;
  /** The project in the API, such as `/v1/projects/…`; percent-encoded. */
  readonly projectPath: string;
  /** The domain in the API; percent-encoded. */
  readonly path: string;
};

/** The domain, or why it is not known which one is meant. */
export type Found = { readonly ok: true; readonly which: Which } | Refused;

/** What the commands about one domain are given. */
export type About = Asked & { readonly url?: string; readonly json?: boolean };

/** `hostname`: in any spelling, as typed. `project`: an id or a slug. */
export type Asked = { readonly hostname: string; readonly project?: string | undefined };

/**
 * The attached domain that is meant. Asks the service to read the name, and for the projects that have it. Refuses a
 * name that no project has, or not the one that was named, and one that several have where none was named. Never
 * rejects.
 */
export async function whichDomain(call: Call, { hostname: typed, project }: Asked): Promise<Found> {
  const read = await readHostname(call, typed);
  if (!read.ok) return read;
  const attached = await projectsWith(call, read.hostname);
  if (!attached.ok) return attached;
  if (project !== undefined) {
    const named = await projectNamed(call, project);
    if (!named.ok) return named;
    const isAttached = attached.projects.some(({ id }) => id === named.project.id);
    return isAttached
      ? found(read.hostname, named.project)
      : refused(
          failed(
            attachedNowhere(read.hostname, `project ${plain(named.project.slug)} does not have`),
          ),
        );
  }
  const [one, ...others] = attached.projects;
  if (one === undefined) return refused(failed(attachedNowhere(read.hostname)));
  if (others.length === 0) return found(read.hostname, one);
  const problem = `${read.hostname} is attached to several projects; say which with --project: ${slugs(attached.projects)}`;
  return refused(wrongUsage(problem));
}

/**
 * The project that a name is to be attached to: the one that was named, or the only one there is. Refuses where there
 * is none or several. Whether the name is attached already is not asked. Never rejects.
 */
export async function whichProject(
  call: Call,
  { hostname: typed, project }: Asked,
): Promise<Found> {
  const read = await readHostname(call, typed);
  if (!read.ok) return read;
  if (project !== undefined) {
    const named = await projectNamed(call, project);
    return named.ok ? found(read.hostname, named.project) : named;
  }
  const all = await projectsIn(call);
  if (!all.ok) return all;
  const [one, ...others] = all.projects;
  if (one === undefined) return refused(failed(noProject));
  if (others.length === 0) return found(read.hostname, one);
  return refused(wrongUsage(`to which project? Say so with --project: ${slugs(all.projects)}`));
}

/** What is said where the service has no project at all. */
export const noProject =
  'there is no project yet: make one in the dashboard, or with POST /v1/projects';

/** Projects, or why they could not be read. */
export type Projects = { readonly ok: true; readonly projects: readonly ProjectShown[] } | Refused;

/** Every project, the oldest first. `query`: with its question mark, to have only some. Never rejects. */
export async function projectsIn(call: Call, query = ''): Promise<Projects> {
  const answer = understood(await everyPage(call, `/v1/projects${query}`), z.array(shownProject));
  return answer.ok ? { ok: true, projects: answer.value } : answer;
}

/**
 * One project, by its id in any case or by its slug. The refusal names those that there are, ten at most. Never
 * rejects.
 */
export async function projectNamed(
  call: Call,
  name: string,
): Promise<{ readonly ok: true; readonly project: ProjectShown } | Refused> {
  const all = await projectsIn(call);
  if (!all.ok) return all;
  const project = all.projects.find(({ id, slug }) => id === name.toLowerCase() || slug === name);
  if (project !== undefined) return { ok: true, project };
  if (all.projects.length === 0) return refused(failed(noProject));
  const problem = `there is no project ${printable(name, 64)}; there are ${slugs(all.projects)}`;
  return refused(failed(problem));
}

function projectsWith(call: Call, hostname: string): Promise<Projects> {
  return projectsIn(call, `?hostname=${encodeURIComponent(hostname)}`);
}

/** The name as the DNS has it. The service reads it, so that every spelling which it takes is taken here. */
async function readHostname(call: Call, typed: string) {
  const answer = await call('GET', `/v1/hostname?text=${encodeURIComponent(typed)}`);
  if (!answer.ok && answer.code === 'invalid_hostname') {
    return refused(failed(`${answer.message} ${validHostname} (${answer.code})`));
  }
  const read = understood(answer, shownReading);
  return read.ok ? ({ ok: true, hostname: read.value.hostname } as const) : refused(read.refusal);
}

function attachedNowhere(hostname: string, who = 'no project has'): string {
  return `${who} ${printable(hostname, 80)}: signpost domains list shows which there are, signpost domains add attaches it`;
}

/** How many projects a refusal names. */
const SLUGS_MAX = 10;

function slugs(projects: readonly ProjectShown[]): string {
  return shortList(
    projects.map(({ slug }) => printable(slug, 64)),
    SLUGS_MAX,
  );
}

function found(hostname: string, project: ProjectShown): Found {
  const projectPath = `/v1/projects/${encodeURIComponent(project.id)}`;
  const path = `${projectPath}/domains/${encodeURIComponent(hostname)}`;
  return { ok: true, which: { hostname, project, projectPath, path } };
}

function refused(refusal: Outcome): Refused {
  return { ok: false, refusal };
}
