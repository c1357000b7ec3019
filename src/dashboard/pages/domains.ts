import { toUnicodeName } from '../../core/names/idna.ts';
import { splitAtZone } from '../../core/names/zone.ts';
import type { ErrorBody } from '../../http/pipeline/errors.ts';
import { eventTypes } from '../../http/schemas/events.ts';
import { attribute, type Html, html } from '../../net/html.ts';
import type { Domain, ProjectView, Settings } from '../client.ts';
import { apiPath, domainPath, projectPath } from '../client.ts';
import { form, type PageContent, type PageRoute, type SignedInRequest } from '../layout.ts';
import { empty, menu, notice, part, projectHead, spokenSummary } from '../parts/elements.ts';
import { textField } from '../parts/fields.ts';
import { icon } from '../parts/icons.ts';
import { given, pagePath, pager } from '../parts/table.ts';
import { offers } from '../session.ts';
import { addPages } from './add.ts';
import { refusedPage } from './problem.ts';
import { missingSteps, prerequisitePages } from './projects.ts';

export function domainsPages(): readonly PageRoute[] {
  const path = '/projects/:projectId/domains';
  return [
    { method: 'GET', path, handle: (asked) => domainsPage(asked) },
    ...addPages(domainsPage),
    ...prerequisitePages(domainsPage),
  ];
}

const PAGE_SIZE = 20;
const filters = ['status', 'search'] as const;

/** `error`: a refused form, shown with its input; the page then has its status. */
async function domainsPage(
  asked: SignedInRequest,
  error: ErrorBody | null = null,
): Promise<PageContent> {
  const { api, link, params, query } = asked;
  const path = projectPath(params['projectId'] ?? '');
  const list = pagePath(apiPath(`${path}/domains`), query, PAGE_SIZE, filters);
  const [project, domains, settings] = await Promise.all([
    api.call<ProjectView>('GET', apiPath(path)),
    api.call<readonly Domain[]>('GET', list),
    api.call<Settings>('GET', apiPath(`${path}/domain-settings`)),
  ]);
  for (const answer of [project, domains, settings]) {
    if (!answer.ok) return refusedPage(answer.error, asked);
  }
  if (!project.ok || !domains.ok || !settings.ok) throw new Error('each was checked above');
  const missing = missingSteps(asked, project.body, error);
  const { body: items, next } = domains;
  const isMany = next !== undefined || query.has('cursor') || isFiltered(query);
  return {
    kind: 'page',
    status: error?.status ?? 200,
    title: `${project.body.name}: domains`,
    above: [{ text: 'Projects', path: '/projects' }],
    events: { path: `${path}/events`, types: eventTypes },
    main: html`${projectHead(project.body, 'domains', link)}
${await removedNotice(asked)}
${part('step', missing ?? adder(asked, error))}
${part('filters', isMany ? filterBar(asked) : html``)}
${part('list', missing !== null && items.length === 0 ? html`` : html`<h2 class="unseen">Domains</h2>${listOf(asked, items, settings.body)}`)}
${part('pager', html`${pager(query, next, link(`${path}/domains`), filters)}`)}`,
  };
}

function isFiltered(query: URLSearchParams): boolean {
  return Object.keys(given(query, filters)).length > 0;
}

/** The name comes from the URL, so it is only shown if the project does not have such a domain. */
async function removedNotice({ api, params, query }: SignedInRequest): Promise<Html | null> {
  const removed = query.get('removed');
  if (removed === null || !/^[a-z0-9.-]{1,253}$/.test(removed)) return null;
  const path = domainPath(params['projectId'] ?? '', removed);
  const answer = await api.call<Domain>('GET', apiPath(path));
  if (answer.ok || answer.error.code !== 'domain_not_found') return null;
  return notice(`${removed} was removed and serves no traffic. Its history is kept.`);
}

const statuses = [
  ['', 'All'],
  ['pending', 'Not set up'],
  ['verified', 'Getting certificate'],
  ['live', 'Live'],
  ['drifted', 'No longer live'],
  ['failed', 'Failed'],
] as const;

/** Links and a form that work without a script. */
function filterBar({ link, params, query }: SignedInRequest): Html {
  const path = link(`${projectPath(params['projectId'] ?? '')}/domains`);
  const { status = '', search = '' } = given(query, filters);
  const to = (value: string) => {
    const asked = new URLSearchParams({
      ...(value !== '' && { status: value }),
      ...(search !== '' && { search }),
    });
    return `${path}${asked.size === 0 ? '' : `?${asked}`}`;
  };
  return html`<div class="bar"><nav class="filter" aria-label="Filter by status">${statuses.map(
    ([value, words]) =>
      html`<a href="${to(value)}"${attribute('aria-current', value === status ? 'true' : null)}>${words}</a>`,
  )}</nav>
<form class="search" role="search" method="get" action="${path}">${status === '' ? null : html`<input type="hidden" name="status" value="${status}">`}<input class="input" type="search" name="search" value="${search}" minlength="3" aria-label="Search domains" placeholder="Search domains"><button aria-label="Search">${icon('search')}</button></form></div>`;
}

function listOf(asked: SignedInRequest, domains: readonly Domain[], settings: Settings): Html {
  const { link, params, query, session } = asked;
  if (domains.length > 0) {
    return html`<ul class="card rows">${domains.map((domain) => row(asked, domain, settings))}</ul>`;
  }
  if (!isFiltered(query)) {
    return empty(
      'No domains yet',
      offers(session, 'domains:write')
        ? 'Add one above. You’ll see the exact DNS change to make, and we take it from there.'
        : 'A key with the scope domains:write can add one.',
    );
  }
  const all = link(`${projectPath(params['projectId'] ?? '')}/domains`);
  return html`<section class="card empty"><h2>No domain matches</h2><p><a href="${all}">Show all</a></p></section>`;
}

/** Omits the time of the next check, which only the domain's page keeps current. */
function row({ link, session }: SignedInRequest, domain: Domain, settings: Settings): Html {
  const { hostname, unicodeHostname, projectId, status, summary } = domain;
  const path = link(domainPath(projectId, hostname));
  const items = [
    ...(status === 'live' && summary.tone !== 'bad'
      ? [html`<a href="https://${hostname}/" rel="noopener noreferrer">Visit</a>`]
      : []),
    ...(offers(session, 'domains:write')
      ? [html`<a class="danger" href="${path}/remove">Remove domain</a>`]
      : []),
  ];
  const isQuiet = summary.tone === 'ok' || summary.tone === 'wait';
  return html`<li id="domain-${hostname}" data-part data-tone="${summary.tone}" data-say="${spokenSummary(domain)}">${icon(summary.tone)}<div class="what"><p class="name"><span class="unseen">${summary.badge}: </span>${nameLink(domain, path)}</p><p class="why${isQuiet ? '' : ' says'}">${roleOf(hostname, settings)}<span>${summary.brief}</span></p></div>${menu(`menu-${hostname}`, unicodeHostname, items)}</li>`;
}

/** The zone is never cut, so that names of one zone look different. */
function nameLink({ unicodeHostname }: Domain, path: string): Html {
  const { label, apex } = splitAtZone(unicodeHostname);
  const zone = apex ? '' : unicodeHostname.slice(label.length);
  return html`<a class="hostname" href="${path}" title="${unicodeHostname}"><span>${apex ? unicodeHostname : label}</span>${zone === '' ? null : html`<span class="zone">${zone}</span>`}</a>`;
}

/** Null if the domain is neither primary nor redirects. */
export function roleOf(hostname: string, { domains }: Settings): Html | null {
  if (domains.primary === hostname) return html`<span class="chip">Primary</span>`;
  const redirect = domains.redirects.find(({ from }) => from === hostname);
  if (redirect === undefined) return null;
  const to = toUnicodeName(redirect.to);
  return html`<span class="chip" title="Redirects to ${to} (${redirect.status})"><span class="unseen">Redirects to </span><span aria-hidden="true">→ </span>${to}</span>`;
}

function adder(
  { form: typed, link, params, query, session }: SignedInRequest,
  error: ErrorBody | null,
): Html {
  if (!offers(session, 'domains:write')) return html``;
  const path = link(projectPath(params['projectId'] ?? ''));
  const field = {
    name: 'hostname',
    label: 'Add a domain',
    value: typed.get('hostname') ?? query.get('add') ?? '',
    placeholder: 'docs.example.com',
    inputmode: 'url',
    hint: html`You can paste a full URL. <span id="reading" data-reading="${path}/reading" aria-live="polite"></span>`,
    problem: error?.message ?? null,
  } as const;
  const button = html`<button class="btn primary">Add domain</button>`;
  return form(`${path}/domains`, session, textField(field, button), 'adder');
}
