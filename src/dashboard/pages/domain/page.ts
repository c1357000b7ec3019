import { zoneFile } from '../../../core/diagnosis/changes/zone-file.ts';
import type { ErrorBody } from '../../../http/pipeline/errors.ts';
import { eventTypes } from '../../../http/schemas/events.ts';
import { attribute, type Html, html } from '../../../net/html.ts';
import type { Domain, Event, ProjectView, Settings } from '../../client.ts';
import { apiPath, domainPath, projectPath } from '../../client.ts';
import {
  form,
  type Link,
  type PageContent,
  type PageHandler,
  type PageRoute,
  type SignedInRequest,
} from '../../layout.ts';
import {
  badge,
  bothTimes,
  fold,
  menu,
  part,
  refusal,
  spokenSummary,
  statusBadge,
  summaryText,
  whoActs,
} from '../../parts/elements.ts';
import { facts } from '../../parts/table.ts';
import { headersOf } from '../../respond.ts';
import { roleOf } from '../domains.ts';
import { refusedPage } from '../problem.ts';
import { findingsSection, serversSection } from './findings.ts';
import { isRecordThere, recordSection, steps } from './record.ts';
import { removalPages } from './remove.ts';
import { timelineSection } from './timeline.ts';

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
  const { api, params } = asked;
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
  const { unicodeHostname, status } = domain.body;
  const query = `hostname=${encodeURIComponent(domain.body.hostname)}&checks=tell`;
  return {
    kind: 'page',
    status: error?.status ?? 200,
    title: `${unicodeHostname}: ${status}`,
    above: crumbs(project.body),
    events: { path: `${inProject}/events?${query}`, types: eventTypes },
    main: sections(asked, domain.body, timeline.body, settings.body, error),
  };
}

function crumbs({ id, name }: Pick<ProjectView, 'id' | 'name'>) {
  return [
    { text: 'Projects', path: '/projects' },
    { text: name, path: `${projectPath(id)}/domains` },
  ];
}

function sections(
  asked: SignedInRequest,
  domain: Domain,
  timeline: readonly Event[],
  settings: Settings,
  error: ErrorBody | null,
): Html {
  const { link, now } = asked;
  const findings = part('findings', html`${findingsSection(domain)}`);
  const record = part('record', recordSection(domain));
  return html`${refusal(error)}
${part('head', head(domain, settings, link))}
${part('summary', summaryPanel(asked, domain), { say: spokenSummary(domain) })}
${isRecordThere(domain) ? [findings, record] : [record, findings]}
${part('servers', serversSection(domain, now))}
${part('certificate', certificateSection(domain, now))}
${part('timeline', timelineSection(timeline, now))}`;
}

function head(domain: Domain, settings: Settings, link: Link): Html {
  const { hostname, unicodeHostname, projectId, status } = domain;
  const path = link(domainPath(projectId, hostname));
  const items = [
    html`<a href="${link(`${projectPath(projectId)}/settings`)}">Primary and redirects</a>`,
    html`<a class="danger" href="${path}/remove">Remove</a>`,
  ];
  const open =
    status === 'live'
      ? html` <a href="https://${hostname}/" rel="noopener noreferrer">Visit</a>`
      : null;
  return html`<div class="head"><div><h1>${unicodeHostname}</h1>${statusBadge(status)}</div>${menu('menu', unicodeHostname, items)}</div>
<p class="quiet under">${unicodeHostname === hostname ? null : hostname}${roleOf(hostname, settings)}${open}</p>`;
}

function summaryPanel({ link, now, session }: SignedInRequest, domain: Domain): Html {
  const { projectId, hostname, status, summary } = domain;
  const label = status === 'pending' ? 'Verify' : 'Re-verify';
  // No call to action if nothing needs to be done.
  const isCalm = status === 'live' || status === 'verified';
  const verifying = form(
    link(`${domainPath(projectId, hostname)}/verify`),
    session,
    html`<button id="verify"${attribute('class', isCalm ? 'secondary' : null)}>${label}</button>`,
  );
  return html`<section class="panel" aria-label="Status">${steps(domain)}
<p class="summary large">${summaryText(domain, now)}</p>
<div class="act">${summary.actor === null ? null : whoActs('Waiting for', summary.actor)}${verifying}</div></section>`;
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
  return {
    kind: 'page',
    status: 404,
    title: `${hostname}: removed`,
    above: crumbs(project),
    main: html`<h1>${hostname}</h1>
<p>This domain was removed and serves no traffic. If you add it again, its DNS record stays the same: <a href="${asked.link(`${projectPath(project.id)}/domains`)}">add it</a>.</p>
${timelineSection(timeline, asked.now)}`,
  };
}

/** The API's stream for the session: EventSource sends cookies, but no API key. */
const events: PageHandler = async ({ api, params, query, headers }) => {
  const asked = query.size === 0 ? '' : `?${query}`;
  const path = apiPath(`${projectPath(params['projectId'] ?? '')}/events${asked}`);
  return { kind: 'raw', response: await api.pass(path, headers['last-event-id']) };
};

const statuses = {
  none: badge('quiet', 'None yet'),
  ordering: badge('busy', 'Ordered'),
  issued: badge('good', 'Issued'),
  failed: badge('bad', 'Refused'),
} as const;

/** Browser states shown on their own line, because no finding covers them. */
const problems: ReadonlySet<string> = new Set(['other_certificate', 'not_shown']);

function certificateSection({ certificate, escalation }: Domain, now: Date): Html {
  const { status, issuer, issuedAt, expiresAt, nextAttemptAt, problem, browser } = certificate;
  const inBrowser = ['In a browser', browser.summary] as const;
  const hasProblem = problems.has(browser.state);
  return html`<h2>Certificate</h2>
${escalation === null ? null : escalationCard(escalation, now)}
${facts([
  ['State', statuses[status]],
  expiresAt === null ? null : ['Valid until', bothTimes(expiresAt, now)],
  ...(problem === null ? [] : refusalOf(problem)),
  nextAttemptAt === null ? null : ['Next attempt', bothTimes(nextAttemptAt, now, 'to-come')],
  hasProblem ? inBrowser : null,
])}
${fold(
  'more-of-certificate',
  hasProblem ? 'Certificate details' : 'Certificate details and browser warnings',
  facts([
    issuer === null ? null : ['Issuer', issuer],
    issuedAt === null ? null : ['Valid from', bothTimes(issuedAt, now)],
    problem === null ? null : ['The refusal', `${problem.detail} (${problem.type})`],
    hasProblem ? null : inBrowser,
  ]),
)}`;
}

/** The error for customers; the CA's own message is further down. */
function refusalOf({ summary, action }: NonNullable<Domain['certificate']['problem']>) {
  return [
    ['Why it was refused', summary],
    ['What to do', action],
  ] as const;
}

function escalationCard(escalation: NonNullable<Domain['escalation']>, now: Date): Html {
  const { openedAt, summary, nextAction } = escalation;
  return html`<article class="finding warns"><div class="finding-head"><h3>An operator was notified</h3>${badge('warning', 'Open')}</div>
${facts([
  ['Since', bothTimes(openedAt, now)],
  ['Why', summary],
  ['What happens next', nextAction],
])}</article>`;
}
