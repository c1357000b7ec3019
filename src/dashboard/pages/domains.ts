import { toUnicodeName } from '../../core/names/idna.ts';
import type { ErrorBody } from '../../http/pipeline/errors.ts';
import { eventTypes } from '../../http/schemas/events.ts';
import { type Html, html } from '../../net/html.ts';
import type { Domain, HostnameReading, ProjectView, Settings } from '../client.ts';
import { apiPath, domainPath, projectPath } from '../client.ts';
import {
  form,
  type PageContent,
  type PageHandler,
  type PageRoute,
  type SignedInRequest,
} from '../layout.ts';
import {
  empty,
  menu,
  notice,
  part,
  refusal,
  spokenSummary,
  statusBadge,
  textField,
} from '../parts/elements.ts';
import { pagePath, pager, projectHead } from '../parts/table.ts';
import { refusedPage } from './problem.ts';
import { missingSteps, prerequisitePages } from './projects.ts';

export function domainsPages(): readonly PageRoute[] {
  const path = '/projects/:projectId/domains';
  return [
    { method: 'GET', path, handle: (asked) => domainsPage(asked) },
    { method: 'POST', path, handle: addDomain },
    { method: 'GET', path: '/projects/:projectId/reading', handle: readingPage },
    ...prerequisitePages(domainsPage),
  ];
}

const PAGE_SIZE = 25; // at most 100 KB per page, even with the longest names

/** `error`: a refused form, shown with its input; the page then has its status. */
async function domainsPage(
  asked: SignedInRequest,
  error: ErrorBody | null = null,
): Promise<PageContent> {
  const { api, link, params, query } = asked;
  const path = projectPath(params['projectId'] ?? '');
  const [project, domains, settings] = await Promise.all([
    api.call<ProjectView>('GET', apiPath(path)),
    api.call<readonly Domain[]>('GET', pagePath(apiPath(`${path}/domains`), query, PAGE_SIZE)),
    api.call<Settings>('GET', apiPath(`${path}/domain-settings`)),
  ]);
  for (const answer of [project, domains, settings]) {
    if (!answer.ok) return refusedPage(answer.error, asked);
  }
  if (!project.ok || !domains.ok || !settings.ok) throw new Error('each was checked above');
  const missing = missingSteps(asked, project.body, error);
  const { body: items, next } = domains;
  return {
    kind: 'page',
    status: error?.status ?? 200,
    title: `${project.body.name}: domains`,
    above: [{ text: 'Projects', path: '/projects' }],
    events: { path: `${path}/events`, types: eventTypes },
    main: html`${projectHead(project.body, 'domains', link)}
${await removedNotice(asked)}
${part('step', missing ?? adder(asked, error))}
${part('list', missing !== null && items.length === 0 ? html`` : html`<h2>Domains</h2>${part('domains', list(asked, items, settings.body))}`)}
${part('pager', html`${pager(query, next, link(`${path}/domains`))}`)}`,
  };
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

function list(asked: SignedInRequest, domains: readonly Domain[], settings: Settings): Html {
  return domains.length === 0
    ? empty(
        'No custom domains',
        'Add one above. You get one DNS record to create; the rest happens automatically.',
      )
    : html`<ul class="cards">${domains.map((domain) => row(asked, domain, settings))}</ul>`;
}

/** Omits the time of the next check, which only the domain's page keeps current. */
function row({ link }: SignedInRequest, domain: Domain, settings: Settings): Html {
  const { hostname, unicodeHostname, projectId, status, summary } = domain;
  const path = link(domainPath(projectId, hostname));
  const items = [
    html`<a href="${path}">Open</a>`,
    html`<a class="danger" href="${path}/remove">Remove</a>`,
  ];
  const content = html`<div class="card-head"><p><a class="title" href="${path}">${unicodeHostname}</a> ${statusBadge(status)}${roleOf(hostname, settings)}</p>${menu(`menu-${hostname}`, unicodeHostname, items)}</div>
<p class="summary"><span class="now">${summary.now}</span></p>`;
  return html`<li>${part(`domain-${hostname}`, content, { className: 'card', say: spokenSummary(domain) })}</li>`;
}

/** Null if the domain is neither primary nor redirects. */
export function roleOf(hostname: string, { domains }: Settings): Html | null {
  if (domains.primary === hostname) return html` <span class="role">Primary</span>`;
  const redirect = domains.redirects.find(({ from }) => from === hostname);
  return redirect === undefined
    ? null
    : html` <span class="role">Redirects to ${toUnicodeName(redirect.to)} (${redirect.status})</span>`;
}

function adder(
  { form: typed, link, params, session }: SignedInRequest,
  error: ErrorBody | null,
): Html {
  const path = link(projectPath(params['projectId'] ?? ''));
  const fields = html`${textField({
    name: 'hostname',
    label: 'Domain or subdomain',
    value: typed.get('hostname') ?? '',
    placeholder: 'docs.example.com',
    inputmode: 'url',
    hint: html`You can paste a full URL.<span id="reading" data-reading="${path}/reading" aria-live="polite"></span>`,
    problem: error?.message ?? null,
  })}
<button>Add domain</button>`;
  return html`<section class="panel" aria-labelledby="add"><h2 id="add">Add domain</h2>${form(`${path}/domains`, session, fields)}</section>`;
}

const addDomain: PageHandler = async (asked) => {
  const path = projectPath(asked.params['projectId'] ?? '');
  const hostname = asked.form.get('hostname') ?? '';
  const answer = await asked.api.call<Domain>('POST', apiPath(`${path}/domains`), { hostname });
  return answer.ok
    ? { kind: 'see_other', path: domainPath(answer.body.projectId, answer.body.hostname) }
    : domainsPage(asked, answer.error);
};

/** The script inserts the element `reading` below the field; it also works as a page. */
const readingPage: PageHandler = async ({ api, query }) => {
  const text = query.get('hostname') ?? '';
  const answer = await api.call<HostnameReading>(
    'GET',
    `/v1/hostname?text=${encodeURIComponent(text)}`,
  );
  const words = answer.ok ? readAs(answer.body) : refusal(answer.error);
  return {
    kind: 'page',
    title: 'Parsed host name',
    main: html`<h1>Parsed host name</h1><div id="reading">${words}</div>`,
  };
};

function readAs({ hostname, unicodeHostname, zone, record }: HostnameReading): Html {
  const also = unicodeHostname === hostname ? null : html` (${unicodeHostname})`;
  return html`<span class="read">Read as <strong>${hostname}</strong>${also}: one ${record.type} record named <code>${record.name}</code> in ${zone}.</span>`;
}
