/** Resolves the domain of a command: its name in any spelling, and its project. */

import { z } from 'zod';
import { printable, shortList } from '../../core/names/printable.ts';
import { type Call, callPages } from '../client.ts';
import { type CliExit, exitFailed, wrongUsage } from '../command.ts';
import { plain } from '../layout.ts';
import { validHostname } from '../lines.ts';
import { type ProjectShown, shownProject, shownReading, understood } from '../shown.ts';

type RefusedUse = { readonly ok: false; readonly refusal: CliExit };

/** An attached domain, or a name and the project to attach it to. */
export type Which = {
  /** A-labels in lower case. */
  readonly hostname: string;
  readonly project: ProjectShown;
  /** API path, percent-encoded. */
  readonly projectPath: string;
  /** API path, percent-encoded. */
  readonly path: string;
};

export type ChosenDomain = { readonly ok: true; readonly which: Which } | RefusedUse;

export type About = DomainOptions & { readonly url?: string; readonly json?: boolean };

/** `hostname`: as typed. `project`: an ID or slug. */
export type DomainOptions = { readonly hostname: string; readonly project?: string | undefined };

/** Refuses a name that is not attached, or ambiguous without a project. Never rejects. */
export async function whichDomain(
  call: Call,
  { hostname: typed, project }: DomainOptions,
): Promise<ChosenDomain> {
  const read = await readHostname(call, typed);
  if (!read.ok) return read;
  const attached = await projectsWith(call, read.hostname);
  if (!attached.ok) return attached;
  if (project !== undefined) {
    return domainIn(call, read.hostname, project, attached.projects);
  }
  const [one, ...others] = attached.projects;
  if (one === undefined) return refused(exitFailed(attachedNowhere(read.hostname)));
  if (others.length === 0) return found(read.hostname, one);
  const problem = `${read.hostname} is attached to several projects. Choose one with --project: ${slugs(attached.projects)}`;
  return refused(wrongUsage(problem));
}

/** Several accounts can use the same slug. Prefers the project that has the domain. */
async function domainIn(
  call: Call,
  hostname: string,
  name: string,
  attached: readonly ProjectShown[],
): Promise<ChosenDomain> {
  const [one, ...others] = attached.filter(isNamed(name));
  if (one !== undefined && others.length === 0) return found(hostname, one);
  if (one !== undefined) return refused(severalNamed(name, [one, ...others]));
  const named = await projectNamed(call, name);
  if (!named.ok) return named;
  const who = `project ${plain(named.project.slug)} does not have`;
  return refused(exitFailed(attachedNowhere(hostname, who)));
}

/** The given project or the only one; refuses if several exist or none. Never rejects. */
export async function whichProject(
  call: Call,
  { hostname: typed, project }: DomainOptions,
): Promise<ChosenDomain> {
  const read = await readHostname(call, typed);
  if (!read.ok) return read;
  const chosen = await chosenProject(call, project);
  return chosen.ok ? found(read.hostname, chosen.project) : chosen;
}

type Chosen = { readonly ok: true; readonly project: ProjectShown } | RefusedUse;

/** The named project or the only one; refuses if several exist or none. Never rejects. */
async function chosenProject(call: Call, name: string | undefined): Promise<Chosen> {
  if (name !== undefined) return projectNamed(call, name);
  const all = await projectsIn(call);
  if (!all.ok) return all;
  const [one, ...others] = all.projects;
  if (one === undefined) return refused(exitFailed(noProject));
  if (others.length === 0) return { ok: true, project: one };
  return refused(wrongUsage(`choose a project with --project: ${slugs(all.projects)}`));
}

const noProject =
  'there are no projects yet: create one in the dashboard, with POST /v1/projects, or add a domain with --upstream <URL of your app>';

export type Projects =
  | { readonly ok: true; readonly projects: readonly ProjectShown[] }
  | RefusedUse;

/** Oldest first. `query`: a filter, starting with a question mark. Never rejects. */
export async function projectsIn(call: Call, query = ''): Promise<Projects> {
  const answer = understood(await callPages(call, `/v1/projects${query}`), z.array(shownProject));
  return answer.ok ? { ok: true, projects: answer.value } : answer;
}

/** By ID, or by slug if only one account has it. Errors list up to SLUGS_MAX projects. Never rejects. */
export async function projectNamed(call: Call, name: string): Promise<Chosen> {
  const all = await projectsIn(call);
  if (!all.ok) return all;
  const [project, ...others] = all.projects.filter(isNamed(name));
  if (project !== undefined && others.length === 0) return { ok: true, project };
  if (project !== undefined) return refused(severalNamed(name, [project, ...others]));
  if (all.projects.length === 0) return refused(exitFailed(noProject));
  const problem = `project ${printable(name, 64)} does not exist. Projects: ${slugs(all.projects)}`;
  return refused(exitFailed(problem));
}

function isNamed(name: string) {
  return ({ id, slug }: ProjectShown) => id === name.toLowerCase() || slug === name;
}

function severalNamed(name: string, projects: readonly ProjectShown[]): CliExit {
  const problem = `several accounts have a project ${printable(name, 64)}. Choose one by its ID, or one account with SIGNPOST_ACCOUNT: ${slugs(projects)}`;
  return wrongUsage(problem);
}

function projectsWith(call: Call, hostname: string): Promise<Projects> {
  return projectsIn(call, `?hostname=${encodeURIComponent(hostname)}`);
}

/** The service parses the name, so all spellings of the API work. */
export async function readHostname(call: Call, typed: string) {
  const answer = await call('GET', `/v1/hostname?text=${encodeURIComponent(typed)}`);
  if (!answer.ok && answer.code === 'invalid_hostname') {
    return refused(exitFailed(`${answer.message} ${validHostname} (${answer.code})`));
  }
  const read = understood(answer, shownReading);
  return read.ok ? ({ ok: true, hostname: read.value.hostname } as const) : refused(read.refusal);
}

function attachedNowhere(hostname: string, who = 'no project has'): string {
  return `${who} ${printable(hostname, 80)}. To list domains: signpost domains list. To attach it: signpost domains add`;
}

const SLUGS_MAX = 10;

/** With their IDs where the slugs do not tell them apart. */
function slugs(projects: readonly ProjectShown[]): string {
  const areUnique = new Set(projects.map(({ slug }) => slug)).size === projects.length;
  const names = projects.map(({ id, slug }) => {
    const name = printable(slug, 64);
    return areUnique ? name : `${printable(id, 64)} (${name})`;
  });
  return shortList(names, SLUGS_MAX);
}

function found(hostname: string, project: ProjectShown): ChosenDomain {
  const projectPath = `/v1/projects/${encodeURIComponent(project.id)}`;
  const path = `${projectPath}/domains/${encodeURIComponent(hostname)}`;
  return { ok: true, which: { hostname, project, projectPath, path } };
}

function refused(refusal: CliExit): RefusedUse {
  return { ok: false, refusal };
}
