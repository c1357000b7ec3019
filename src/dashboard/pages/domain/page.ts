import { zoneFile } from '../../../core/diagnosis/changes/zone-file.ts';
import { removed } from '../../../core/life/summary/situation.ts';
import type { ErrorBody } from '../../../http/pipeline/errors.ts';
import { eventTypes } from '../../../http/schemas/events.ts';
import { type Html, html } from '../../../net/html.ts';
import type { Domain, Event, ProjectView, Settings } from '../../client.ts';
import { apiPath, domainPath, projectPath } from '../../client.ts';
import type { PageContent, PageHandler, PageRoute, SignedInRequest } from '../../layout.ts';
import {
  badge,
  breakable,
  domainBadge,
  empty,
  menu,
  part,
  refusal,
  spokenSummary,
} from '../../parts/elements.ts';
import { icon } from '../../parts/icons.ts';
import { headersOf } from '../../respond.ts';
import { offers } from '../../session.ts';
import { roleOf } from '../domains.ts';
import { refusedPage } from '../problem.ts';
import { factsColumn } from './facts.ts';
import { removalPages } from './remove.ts';
import { partnerCard, taskCard } from './task.ts';
import { timelineCard } from './timeline.ts';

export function domainPages(): readonly PageRoute[] {
  const path = '/projects/:projectId/domains/:hostname';
  return [
    { method: 'GET', path, handle: (asked) => domainPage(asked) },
    { method: 'POST', path: `${path}/verify`, handle: verify },
    { method: 'GET', path: `${path}/zone-file`, handle: zoneFilePage },
    { method: 'GET', path: '/projects/:projectId/events', handle: events },
    ...removalPages(),
  ];
}

/** `error`: a refused form; the page then has its status. */
async function domainPage(
  asked: SignedInRequest,
  error: ErrorBody | null = null,
): Promise<PageContent> {
  const { api, now, params } = asked;
  const [projectId, hostname] = [params['projectId'] ?? '', params['hostname'] ?? ''];
  const [path, inProject] = [domainPath(projectId, hostname), projectPath(projectId)];
  const [project, domain, timeline, settings] = await Promise.all([
    api.call<ProjectView>('GET', apiPath(inProject)),
    api.call<Domain>('GET', apiPath(path)),
    api.call<readonly Event[]>('GET', apiPath(`${path}/timeline`)),
    api.call<Settings>('GET', apiPath(`${inProject}/domain-settings`)),
  ]);
  if (!project.ok) return refusedPage(project.error, asked);
  if (!domain.ok) {
    // A removed domain keeps its timeline, so finding only that means that it was removed.
    return timeline.ok
      ? removedPage(asked, project.body, timeline.body)
      : refusedPage(domain.error, asked);
  }
  if (!timeline.ok) return refusedPage(timeline.error, asked);
  if (!settings.ok) return refusedPage(settings.error, asked);
  const { unicodeHostname, summary } = domain.body;
  const partner = await partnerOf(asked, domain.body, settings.body);
  const query = `hostname=${encodeURIComponent(domain.body.hostname)}&checks=tell`;
  return {
    kind: 'page',
    status: error?.status ?? 200,
    title: `${unicodeHostname}: ${summary.badge.toLowerCase()}`,
    above: crumbs(project.body),
    events: { path: `${inProject}/events?${query}`, types: eventTypes },
    main: html`${refusal(error)}
${part('head', head(asked, domain.body, settings.body))}
<div class="columns"><div class="stack">
${part('task', taskCard(asked, domain.body), { say: spokenSummary(domain.body) })}
${part('partner', partner === null ? html`` : partnerCard(asked, partner))}
${part('timeline', timelineCard(timeline.body, now))}</div>
${part('facts', factsColumn(domain.body, project.body, now))}</div>`,
  };
}

/** `www` beside its apex, while it still needs a record in the same zone. */
async function partnerOf(
  { api }: SignedInRequest,
  { hostname, projectId, zone }: Domain,
  { domains }: Settings,
): Promise<Domain | null> {
  const pair = domains.redirects.find(({ from, to }) => from === hostname || to === hostname);
  if (pair === undefined) return null;
  const other = pair.from === hostname ? pair.to : pair.from;
  const isWww = other === `www.${hostname}` || hostname === `www.${other}`;
  if (!isWww) return null;
  const found = await api.call<Domain>('GET', apiPath(domainPath(projectId, other)));
  if (!found.ok || found.body.zone !== zone) return null;
  const isOpen = found.body.changes.some(({ verb, state }) => verb !== 'keep' && state !== 'done');
  return isOpen ? found.body : null;
}

function crumbs({ id, name }: Pick<ProjectView, 'id' | 'name'>) {
  return [
    { text: 'Projects', path: '/projects' },
    { text: name, path: `${projectPath(id)}/domains` },
  ];
}

function head({ link, session }: SignedInRequest, domain: Domain, settings: Settings): Html {
  const mayWrite = offers(session, 'domains:write');
  const { hostname, unicodeHostname, projectId, status, summary } = domain;
  const path = link(domainPath(projectId, hostname));
  const items = [
    html`<a href="${link(`${projectPath(projectId)}/settings`)}">Redirects</a>`,
    ...(mayWrite ? [html`<a class="danger" href="${path}/remove">Remove domain</a>`] : []),
  ];
  const visit =
    status === 'live' && summary.tone !== 'bad'
      ? html`<a class="visit" href="https://${hostname}/" rel="noopener noreferrer">Visit ${icon('out')}</a>`
      : null;
  const ascii = unicodeHostname === hostname ? null : html`<span>${hostname}</span>`;
  const role = roleOf(hostname, settings);
  const sub = ascii === null && role === null ? null : html`<p class="sub">${ascii}${role}</p>`;
  return html`<header class="head"><div class="head-title"><h1>${breakable(unicodeHostname)}</h1>${domainBadge(domain)}${visit}${sub}</div>
<div class="head-actions">${menu('menu', unicodeHostname, items)}</div></header>`;
}

const verify: PageHandler = async (asked) => {
  const { api, params } = asked;
  const path = domainPath(params['projectId'] ?? '', params['hostname'] ?? '');
  const answer = await api.call('POST', apiPath(`${path}/verify`));
  return answer.ok ? { kind: 'see_other', path } : domainPage(asked, answer.error);
};

/** To download. */
const zoneFilePage: PageHandler = async (asked) => {
  const { api, params } = asked;
  const path = domainPath(params['projectId'] ?? '', params['hostname'] ?? '');
  const answer = await api.call<Domain>('GET', apiPath(path));
  if (!answer.ok) return refusedPage(answer.error, asked);
  const { zone, hostname, changes } = answer.body;
  const body = zoneFile({ zone, hostname, changes });
  const headers = {
    ...headersOf(body, 'text/plain; charset=utf-8', 'no-store'),
    'content-disposition': `attachment; filename="${hostname}.zone"`,
  };
  return { kind: 'raw', response: { status: 200, headers, body } };
};

/** Status 404, with the domain's history. */
function removedPage(
  asked: SignedInRequest,
  project: ProjectView,
  timeline: readonly Event[],
): PageContent {
  const hostname = timeline[0]?.hostname ?? asked.params['hostname'] ?? '';
  const { badge: word, tone, headline, text } = removed(hostname);
  const again = `${projectPath(project.id)}/domains?add=${encodeURIComponent(hostname)}`;
  return {
    kind: 'page',
    status: 404,
    title: `${hostname}: removed`,
    above: crumbs(project),
    main: html`<header class="head"><div class="head-title"><h1>${breakable(hostname)}</h1>${badge(tone, word)}</div></header>
<div class="stack">${empty(headline, text, offers(asked.session, 'domains:write') ? html`<a class="btn primary" href="${asked.link(again)}">Add it again</a>` : null)}
${timelineCard(timeline, asked.now)}</div>`,
  };
}

/** The API's stream for the session: EventSource sends cookies, but no API key. */
const events: PageHandler = async ({ api, params, query, headers }) => {
  const asked = query.size === 0 ? '' : `?${query}`;
  const path = apiPath(`${projectPath(params['projectId'] ?? '')}/events${asked}`);
  return { kind: 'raw', response: await api.pass(path, headers['last-event-id']) };
};
