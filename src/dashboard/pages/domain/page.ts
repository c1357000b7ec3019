import { zoneFile } from '../../../core/diagnosis/changes/zone-file.ts';
import { removed } from '../../../core/life/summary/situation.ts';
import { dateInWords, type Tone } from '../../../core/life/summary/summary-types.ts';
import type { ErrorBody } from '../../../http/pipeline/errors.ts';
import { eventTypes } from '../../../http/schemas/events.ts';
import { type Html, html } from '../../../net/html.ts';
import {
  apiPath,
  type Domain,
  domainPath,
  type Event,
  type ProjectView,
  projectPath,
  type Settings,
} from '../../client.ts';
import type { PageContent, PageHandler, PageRoute, SignedInRequest } from '../../layout.ts';
import {
  badge,
  bothTimes,
  breakable,
  domainBadge,
  empty,
  fold,
  menu,
  part,
  refusal,
  relativeTime,
  spokenSummary,
} from '../../parts/elements.ts';
import { icon } from '../../parts/icons.ts';
import { facts } from '../../parts/table.ts';
import { headersOf } from '../../respond.ts';
import { offers } from '../../session.ts';
import { roleOf } from '../domains.ts';
import { refusedPage } from '../problem.ts';
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

// The column beside the card: certificate, deploy, name servers.

function factsColumn(domain: Domain, project: ProjectView, now: Date): Html {
  return html`<aside class="card" aria-label="Facts">
${certificateFact(domain, now)}
${deployFact(project)}
${serversFact(domain, now)}</aside>`;
}

function fact(tone: Tone, title: string, state: Html | string | null, content: Html): Html {
  const is = state === null ? null : html`<span class="is">${icon(tone)}${state}</span>`;
  return html`<section class="fact" data-tone="${tone}"><div class="fact-head"><h3>${title}</h3>${is}</div>
${content}</section>`;
}

/** Browser states without a finding. */
const browserProblems: ReadonlySet<string> = new Set(['other_certificate', 'not_shown']);

function certificateFact({ certificate, escalation, summary }: Domain, now: Date): Html {
  const { issuer, issuedAt, problem, browser, nextAttemptAt } = certificate;
  const step = summary.path.find((one) => one.step === 'certificate')?.tone ?? 'idle';
  const attempt =
    nextAttemptAt === null
      ? null
      : html`<p class="quiet">Next attempt ${relativeTime(nextAttemptAt, now, 'to-come')}</p>`;
  return fact(
    step,
    'Certificate',
    stateOf(certificate, step),
    html`${validity(certificate, step, now)}
${problem === null ? null : html`<p>${problem.summary}</p><p class="quiet">${problem.action}</p>`}
${attempt}
${escalation === null ? null : html`<p>An operator was notified ${relativeTime(escalation.openedAt, now)}: ${escalation.summary}</p><p class="quiet">${escalation.nextAction}</p>`}
${browserProblems.has(browser.state) ? html`<p>${browser.summary}</p>` : null}
${fold(
  'more-of-certificate',
  'Details',
  facts([
    issuer === null ? null : ['Issuer', issuer],
    issuedAt === null ? null : ['Valid from', bothTimes(issuedAt, now)],
    problem === null ? null : ['The CA said', `${problem.detail} (${problem.type})`],
    browserProblems.has(browser.state) ? null : ['In a browser', browser.summary],
  ]),
)}`,
  );
}

function stateOf({ expiresAt }: Domain['certificate'], step: Tone): string {
  if (expiresAt !== null) return 'Valid';
  return { ok: 'Valid', wait: 'Ordered', warn: 'Not allowed yet', bad: 'Expired', idle: 'Not yet' }[
    step
  ];
}

const before = {
  ok: '',
  wait: 'Usually takes about 2 minutes.',
  warn: 'Issued automatically once the CAA records allow it.',
  bad: 'It has expired.',
  idle: 'Issued automatically once everything else is done.',
} as const;

function validity(
  { expiresAt, issuer, renewal }: Domain['certificate'],
  step: Tone,
  now: Date,
): Html {
  if (expiresAt === null) return html`<p class="quiet">${before[step]}</p>`;
  const until = `expires ${dateInWords(new Date(expiresAt), now)}`;
  const renews =
    renewal === null
      ? null
      : html`<p>Renews around ${dateInWords(new Date(renewal.plannedAt), now)}</p>`;
  return html`${renews}<p class="quiet">${issuer === null ? until : `${issuer} · ${until}`}</p>`;
}

/** Its health is not measured. */
function deployFact({ deploy }: ProjectView): Html | null {
  if (deploy === null) return null;
  return fact('idle', 'Deploy', null, html`<p><code>${deploy.upstream}</code></p>`);
}

function serversFact(domain: Domain, now: Date): Html {
  const { observation, checks, provider, summary } = domain;
  const { attempts, lastCheckedAt, windowEndsAt } = checks;
  // Always present, because the script uses it (src/dashboard/browser/live.ts).
  const count = html`<span data-attempts="${attempts}">${attempts}</span> ${attempts === 1 ? 'check' : 'checks'}`;
  const last =
    lastCheckedAt === null
      ? 'Not queried yet'
      : html`Checked ${relativeTime(lastCheckedAt, now, 'last-check')}`;
  const dns = summary.path.find((one) => one.step === 'dns')?.tone ?? 'idle';
  const title = observation?.view === 'recursive' ? 'Resolvers' : 'Name servers';
  return html`<section class="fact" data-tone="${dns}"><div class="fact-head"><h3>${title}</h3><span class="quiet">${provider?.name ?? null}</span></div>
${observation === null ? null : serverList(domain)}
<p class="quiet">${last} · ${count}</p>
${windowEndsAt === null ? null : html`<p class="quiet">Checked until ${dateInWords(new Date(windowEndsAt), now)}</p>`}
${observation === null ? null : fold('shown-by-servers', 'What each one shows', serverFacts(observation, now))}</section>`;
}

type Seen = NonNullable<Domain['observation']>;

type ServerProgress = 'done' | 'to_do' | 'unknown';
const stateTones = { done: 'ok', to_do: 'warn', unknown: 'idle' } as const;

/** One line per name, as the rows of the records say. */
function serverList({ observation, changes, status }: Domain): Html {
  const names = [...new Set((observation?.servers ?? []).map(({ server }) => server))];
  const words = {
    done: 'right',
    to_do: status === 'pending' ? 'not yet' : 'wrong',
    unknown: 'unknown',
  };
  return html`<ul class="servers">${names.map((name) => {
    const state = stateAt(name, changes);
    const tone = stateTones[state];
    return html`<li data-tone="${tone}">${icon(tone)}<span class="clip" title="${name}">${name}</span><span class="quiet">${words[state]}</span></li>`;
  })}</ul>`;
}

/** Of the records that decide where the name points. */
function stateAt(name: string, changes: Domain['changes']): ServerProgress {
  const pointing = changes.filter(({ type }) => !besideRecord.has(type));
  const states = pointing.flatMap(({ servers }) =>
    servers.flatMap((one) => (one.name === name ? one.state : [])),
  );
  if (states.includes('to_do')) return 'to_do';
  return states.includes('done') ? 'done' : 'unknown';
}

const besideRecord: ReadonlySet<string> = new Set(['CAA', 'TXT', 'HTTPS', 'MX']);

function serverFacts({ servers, at }: Seen, now: Date): Html {
  return html`${facts([
    ...servers.map(({ server, address, shows }) => {
      const place = address === null || address === server ? server : `${server} (${address})`;
      return [place, html`<code>${shows}</code>`] as const;
    }),
    ['Seen', bothTimes(at, now)],
  ])}`;
}
