/** A project's settings → Domains: what is missing first, the form that adds one, and where each of them stands. */
import { toUnicodeName } from '../../core/names/idna.ts';
import type { ErrorBody } from '../../http/pipeline/errors.ts';
import { eventTypes } from '../../http/schemas/events.ts';
import { type Html, html } from '../../net/html.ts';
import type { Domain, HostnameReading, Project, Settings } from '../client.ts';
import { apiPath, domainPath, projectPath } from '../client.ts';
import { form, type Page, type PageRoute, type Shown, type SignedInRequest } from '../layout.ts';
import {
  choiceField,
  empty,
  menu,
  notice,
  part,
  refusal,
  spokenSummary,
  statusBadge,
  statusChoices,
  textField,
} from '../parts/elements.ts';
import { type At, cursorPager, projectHead } from '../parts/table.ts';
import { offers } from '../session.ts';
import { refusedPage } from './problem.ts';
import { missingSteps, prerequisitePages, writing } from './projects.ts';

/** The list of a project's domains, the form that adds one, and the steps that have to come before. */
export function domainsPages(): readonly PageRoute[] {
  const path = '/projects/:projectId/domains';
  return [
    { method: 'GET', path, handle: (asked) => domainsPage(asked) },
    { method: 'POST', path, needs: writing, handle: addDomain },
    { method: 'GET', path: '/projects/:projectId/reading', handle: readingPage },
    ...prerequisitePages(domainsPage),
  ];
}

const PAGE_SIZE = 25; // our choice: with names as long as names can be it is a page of 100 KB at most

/** Below this many domains, on one page, there is nothing to search in. Our choice. */
const SEARCHED_FROM = 6;

/** The query of the list as the API has it, and as the page's own links keep it. */
function listedBy(query: URLSearchParams) {
  const part = (query.get('part') ?? '').trim();
  const status = query.get('status') ?? '';
  const filters = new URLSearchParams({ ...(part && { part }), ...(status && { status }) });
  const cursor = query.get('cursor');
  const asked = new URLSearchParams({
    limit: String(PAGE_SIZE),
    ...(part && { hostname: part }),
    ...(status && { status }),
    ...(cursor !== null && { cursor }),
  });
  return { part, status, filters, asked, isFirst: cursor === null };
}
type Listed = ReturnType<typeof listedBy>;

/**
 * The page of a project's domains, 25 at a time. `error`: the refusal of a form on it, shown with what was typed; the
 * page then has its status.
 */
export async function domainsPage(
  asked: SignedInRequest,
  error: ErrorBody | null = null,
): Promise<Shown> {
  const { api, link, params, query } = asked;
  const path = projectPath(params['projectId'] ?? '');
  const listed = listedBy(query);
  const [project, { answer: domains, next }, settings, removed] = await Promise.all([
    api.call<Project>('GET', apiPath(path)),
    api.page<Domain>(apiPath(`${path}/domains?${listed.asked}`)),
    api.call<Settings>('GET', apiPath(`${path}/domain-settings`)),
    removedNotice(asked),
  ]);
  for (const answer of [project, domains, settings]) {
    if (!answer.ok) return refusedPage(answer.error, asked);
  }
  if (!project.ok || !domains.ok || !settings.ok) throw new Error('each was checked above');
  const missing = missingSteps(asked, project.body, error);
  const items = domains.body;
  const at = { isFirst: listed.isFirst, next };
  return {
    kind: 'page',
    status: error?.status ?? 200,
    title: `${project.body.name}: domains`,
    above: [{ text: 'Projects', path: '/projects' }],
    events: { path: `${path}/events`, types: eventTypes },
    main: html`${projectHead(project.body, 'domains', link)}
${removed}
${part('step', missing ?? adder(asked, error) ?? html``)}
${part('list', missing !== null && items.length === 0 ? html`` : html`<h2>Domains</h2>${part('search', html`${isSearched(listed, at, items) ? searchForm(asked, listed) : null}`)}${part('domains', list(asked, items, settings.body, listed))}`)}
${part('pager', html`${cursorPager(at, link(`${path}/domains`), listed.filters)}`)}`,
  };
}

/**
 * Says that a domain was removed, after its removal. The name comes from the address of the page, which anybody may
 * have written: only a name that is none of the project's is said to be removed.
 */
async function removedNotice({ api, params, query }: SignedInRequest): Promise<Html | null> {
  const removed = query.get('removed');
  if (removed === null || !/^[a-z0-9.-]{1,253}$/.test(removed)) return null;
  const answer = await api.call('GET', apiPath(domainPath(params['projectId'] ?? '', removed)));
  if (answer.ok || answer.error.code !== 'domain_not_found') return null;
  return notice(`${removed} is removed, and serves no traffic. Its history stays.`);
}

function isSearched({ filters }: Listed, { isFirst, next }: At, items: readonly Domain[]): boolean {
  const isWhole = filters.size === 0 && isFirst && next === null;
  return !isWhole || items.length >= SEARCHED_FROM;
}

/** The form that searches the list, with GET, so that what was found has an address. */
function searchForm({ link, params }: SignedInRequest, { part: name, status }: Listed): Html {
  const path = link(`${projectPath(params['projectId'] ?? '')}/domains`);
  const search = { name: 'part', label: 'Name', value: name, placeholder: 'A part of the name' };
  const every = { value: '', text: 'All' };
  return html`<search><form class="search" method="get" action="${path}">
${textField({ ...search, inputmode: 'url', isOptional: true })}
${choiceField({ name: 'status', label: 'Status', value: status }, [every, ...statusChoices])}
<button class="secondary">Search</button>
</form></search>`;
}

function list(
  asked: SignedInRequest,
  domains: readonly Domain[],
  settings: Settings,
  { filters, isFirst }: Listed,
): Html {
  if (domains.length === 0 && (filters.size > 0 || !isFirst)) {
    const path = asked.link(`${projectPath(asked.params['projectId'] ?? '')}/domains`);
    return empty(
      'No domains match',
      'None has such a name and status.',
      html`<p><a href="${path}">Show all</a></p>`,
    );
  }
  return domains.length === 0
    ? empty(
        'No custom domains',
        offers(asked.session, 'domains:write')
          ? 'Add one above. You get one DNS record to create; the rest happens automatically.'
          : 'None was added yet.',
      )
    : html`<ul class="cards">${domains.map((domain) => row(asked, domain, settings))}</ul>`;
}

/** A domain in the list. Without the next check, whose time only a domain's own page keeps up with. */
function row({ link, session }: SignedInRequest, domain: Domain, settings: Settings): Html {
  const { hostname, unicodeHostname, projectId, status, summary } = domain;
  const path = link(domainPath(projectId, hostname));
  const items = [
    html`<a href="${path}">Open</a>`,
    ...(offers(session, 'domains:write')
      ? [html`<a class="danger" href="${path}/remove">Remove</a>`]
      : []),
  ];
  const content = html`<div class="card-head"><p><a class="title" href="${path}">${unicodeHostname}</a> ${statusBadge(status)}${roleOf(hostname, settings)}</p>${menu(`menu-${hostname}`, unicodeHostname, items)}</div>
<p class="summary"><span class="now">${summary.now}</span></p>`;
  return html`<li>${part(`domain-${hostname}`, content, { className: 'card', say: spokenSummary(domain) })}</li>`;
}

/** Whether a domain is the primary one or redirects, and where to; null where it is neither. */
export function roleOf(hostname: string, { domains }: Settings): Html | null {
  if (domains.primary === hostname) return html` <span class="role">Primary</span>`;
  const redirect = domains.redirects.find(({ from }) => from === hostname);
  return redirect === undefined
    ? null
    : html` <span class="role">Redirects to ${toUnicodeName(redirect.to)} (${redirect.status})</span>`;
}

/** Null for who may add none. */
function adder(
  { form: typed, link, params, session }: SignedInRequest,
  error: ErrorBody | null,
): Html | null {
  if (!offers(session, 'domains:write')) return null;
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

const addDomain: Page = async (asked) => {
  const path = projectPath(asked.params['projectId'] ?? '');
  const hostname = asked.form.get('hostname') ?? '';
  const answer = await asked.api.call<Domain>('POST', apiPath(`${path}/domains`), { hostname });
  return answer.ok
    ? { kind: 'see_other', path: domainPath(answer.body.projectId, answer.body.hostname) }
    : domainsPage(asked, answer.error);
};

/**
 * How what is typed is read; the script puts the part with the id `reading` below the field. It is a page of its own,
 * too.
 */
const readingPage: Page = async ({ api, query }) => {
  const text = query.get('hostname') ?? '';
  const answer = await api.call<HostnameReading>(
    'GET',
    `/v1/hostname?text=${encodeURIComponent(text)}`,
  );
  const words = answer.ok ? readAs(answer.body) : refusal(answer.error);
  return {
    kind: 'page',
    title: 'How it is read',
    main: html`<h1>How it is read</h1><div id="reading">${words}</div>`,
  };
};

function readAs({ hostname, unicodeHostname, zone, record }: HostnameReading): Html {
  const also = unicodeHostname === hostname ? null : html` (${unicodeHostname})`;
  return html`<span class="read">Read as <strong>${hostname}</strong>${also}: one ${record.type} record named <code>${record.name}</code> in ${zone}.</span>`;
}
