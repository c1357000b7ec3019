import { z } from 'zod';
import type { DomainStatus } from '../../core/life/lifecycle.ts';
import { renderJson } from '../../net/json.ts';
import { type Call, callPages, connect } from '../client.ts';
import { type CliExit, exitDone, type Io } from '../command.ts';
import { createPaint, cut, plain, plainSentence, textTable, wantsColor } from '../layout.ts';
import { spelt } from '../lines.ts';
import {
  type DomainShown,
  type ProjectShown,
  shownDomain,
  shownEvent,
  understood,
} from '../shown.ts';
import { isBlocked, markOf, renderDomain } from './render.ts';
import { type About, projectNamed, projectsIn, type Which, whichDomain } from './which.ts';

/** `body`: the domain with all fields of the API. */
type DomainReport = {
  readonly domain: DomainShown;
  readonly project: ProjectShown;
  readonly body: unknown;
};

/** `project`: an ID or slug; without it, all projects. */
type Filter = {
  readonly project?: string;
  readonly status?: readonly DomainStatus[];
  readonly url?: string;
  readonly json?: boolean;
};

/** By project and oldest first. An empty list is a success. */
export async function listDomains(
  { project, status: wanted, url, json = false }: Filter,
  io: Io,
): Promise<CliExit> {
  const connection = connect(url, io.env);
  if (!connection.ok) return connection.refusal;
  const all = await listed(connection.call, project);
  if (!all.ok) return all.refusal;
  const shown = all.domains.filter(({ domain }) => wanted?.includes(domain.status) ?? true);
  print(shown, { json, isFiltered: wanted !== undefined }, io);
  return exitDone;
}

/** All or an error, because an incomplete list would look complete. */
type All =
  | { readonly ok: true; readonly domains: readonly DomainReport[] }
  | { readonly ok: false; readonly refusal: CliExit };

/** Page by page of each project, sequentially. */
async function listed(call: Call, name: string | undefined): Promise<All> {
  const found = await (name === undefined ? projectsIn(call) : oneProject(call, name));
  if (!found.ok) return found;
  const domains: DomainReport[] = [];
  for (const project of found.projects) {
    const path = `/v1/projects/${encodeURIComponent(project.id)}/domains`;
    const answer = await callPages(call, path);
    const bodies = understood(answer, z.array(z.unknown()));
    const read = understood(answer, z.array(shownDomain));
    if (!bodies.ok) return bodies;
    if (!read.ok) return read;
    domains.push(...read.value.map((domain, at) => ({ domain, project, body: bodies.value[at] })));
  }
  return { ok: true, domains };
}

async function oneProject(call: Call, name: string) {
  const named = await projectNamed(call, name);
  return named.ok ? ({ ok: true, projects: [named.project] } as const) : named;
}

function print(
  shown: readonly DomainReport[],
  { json, isFiltered }: { readonly json: boolean; readonly isFiltered: boolean },
  io: Io,
): void {
  if (json) io.out(`${renderJson(shown.map(({ body }) => body))}\n`);
  else if (shown.length > 0) io.out(inTable(shown, io));
  else if (isFiltered) io.err('No domains with this status.\n');
  else io.err('No domains yet. To add one: signpost domains add <hostname>\n');
}

const headings = ['', 'HOSTNAME', 'STATUS', 'PROJECT', 'SUMMARY'];

/** Cuts summaries to the screen width (at least WIDTH_MIN), only on a terminal. */
function inTable(shown: readonly DomainReport[], { env, screen }: Io): string {
  const paint = createPaint(wantsColor(env, screen.out));
  const heads = shown.map(({ domain: { hostname, status }, project: { slug } }) => {
    return ['', spelt(hostname), status, plain(slug)].map((text) => ({ text }));
  });
  const before = textTable(
    [headings.slice(0, -1).map((text) => ({ text })), ...heads],
    0,
    (_, text) => text,
  );
  const left = screen.columns - Math.max(...before.map((line) => line.length)) - 2 - 1;
  const width = screen.out ? Math.max(WIDTH_MIN, left) : Number.POSITIVE_INFINITY;
  const rows = shown.map(({ domain }, at) => {
    const { sign, style } = markOf(domain);
    const summary = { text: cut(plainSentence(domain.summary.line), width) };
    return [{ text: sign, style }, ...(heads[at] ?? []).slice(1), summary];
  });
  return textTable([headings.map((text) => ({ text })), ...rows], 0, paint)
    .map((line) => `${line}\n`)
    .join('');
}

const WIDTH_MIN = 20;

/** `done` if the domain is live and not blocked, otherwise `negative`. */
export async function show(
  { hostname, project, url, json = false }: About,
  io: Io,
): Promise<CliExit> {
  const connection = connect(url, io.env);
  if (!connection.ok) return connection.refusal;
  const found = await whichDomain(connection.call, { hostname, project });
  if (!found.ok) return found.refusal;
  const shown = await showDomain(connection.call, found.which, json, io);
  return shown.ok ? exitOf(shown.domain) : shown.refusal;
}

export type ShowResult =
  | { readonly ok: true; readonly domain: DomainShown }
  | { readonly ok: false; readonly refusal: CliExit };

/** Prints nothing if a request fails. Never rejects. */
export async function showDomain(
  call: Call,
  { path, project }: Which,
  json: boolean,
  { out, env, screen }: Io,
): Promise<ShowResult> {
  const answer = understood(await call('GET', path), shownDomain);
  if (!answer.ok) return answer;
  const domain = answer.value;
  if (json) {
    out(`${answer.text}\n`);
    return { ok: true, domain };
  }
  const events = understood(await call('GET', `${path}/timeline`), z.array(shownEvent));
  if (!events.ok) return events;
  const paint = createPaint(wantsColor(env, screen.out));
  out(renderDomain({ domain, project, events: events.value }, { columns: screen.columns, paint }));
  return { ok: true, domain };
}

/** Exit code 1 (`negative`) describes the domain, not the command. */
export function exitOf(domain: DomainShown): CliExit {
  return domain.status === 'live' && !isBlocked(domain) ? exitDone : { kind: 'negative' };
}
