/** Adds a domain by name. For an apex or its `www`, offers to add both in one step. */
import type { ErrorBody } from '../../http/pipeline/errors.ts';
import { type Html, html } from '../../net/html.ts';
import type { ApiAnswer, Domain, HostnameReading, ProjectView, Settings } from '../client.ts';
import { apiPath, domainPath, projectPath } from '../client.ts';
import {
  form,
  type PageAnswer,
  type PageContent,
  type PageHandler,
  type PageRoute,
  type SignedInRequest,
} from '../layout.ts';
import { refusal } from '../parts/elements.ts';
import { type RadioChoice, radioField } from '../parts/fields.ts';
import { refusedPage } from './problem.ts';
import { changeSettings, withPrimary, withRedirect } from './settings.ts';

/** A parameter, because that page imports this file. */
type ShowDomains = (asked: SignedInRequest, error: ErrorBody) => Promise<PageContent>;

export function addPages(show: ShowDomains): readonly PageRoute[] {
  const path = '/projects/:projectId';
  return [
    { method: 'POST', path: `${path}/domains`, handle: addDomain(show) },
    { method: 'GET', path: `${path}/add`, handle: (asked) => pairPage(asked, null) },
    { method: 'POST', path: `${path}/add`, handle: addPair },
    { method: 'GET', path: `${path}/reading`, handle: readingPage },
  ];
}

/** For a name with a counterpart, the choice comes first; the name is added after it. */
function addDomain(show: ShowDomains): PageHandler {
  return async (asked) => {
    const { api, form: typed, params } = asked;
    const path = projectPath(params['projectId'] ?? '');
    const hostname = typed.get('hostname') ?? '';
    const reading = await readName(asked, hostname);
    if (!reading.ok) return show(asked, reading.error);
    const isAsked = await isPair(asked, reading.body);
    if (isAsked) {
      const name = encodeURIComponent(reading.body.hostname);
      return { kind: 'see_other', path: `${path}/add?hostname=${name}` };
    }
    const answer = await api.call<Domain>('POST', apiPath(`${path}/domains`), { hostname });
    return answer.ok
      ? { kind: 'see_other', path: domainPath(answer.body.projectId, answer.body.hostname) }
      : show(asked, answer.error);
  };
}

function readName({ api }: SignedInRequest, text: string): Promise<ApiAnswer<HostnameReading>> {
  return api.call<HostnameReading>('GET', `/v1/hostname?text=${encodeURIComponent(text)}`);
}

/** `www.example.com` for `example.com`, and the other way round; null for other names. */
function counterpartOf({ hostname, zone }: Pick<HostnameReading, 'hostname' | 'zone'>) {
  if (hostname === zone) return `www.${zone}`;
  return hostname === `www.${zone}` ? zone : null;
}

/** The name is new here and has a counterpart, and the project can have domains. */
async function isPair(asked: SignedInRequest, reading: HostnameReading): Promise<boolean> {
  const { api, params } = asked;
  const other = counterpartOf(reading);
  if (other === null) return false;
  const projectId = params['projectId'] ?? '';
  const [project, own, use] = await Promise.all([
    api.call<ProjectView>('GET', apiPath(projectPath(projectId))),
    api.call<Domain>('GET', apiPath(domainPath(projectId, reading.hostname))),
    useOf(asked, other),
  ]);
  const canAdd = project.ok && project.body.plan !== 'free' && project.body.deployedAt !== null;
  return canAdd && !own.ok && own.error.code === 'domain_not_found' && use !== 'redirects';
}

/** `in_use`: visitors or settings depend on it, so it stays the main address. `redirects`: elsewhere. */
type Use = 'free' | 'in_use' | 'redirects';

async function useOf({ api, params }: SignedInRequest, hostname: string): Promise<Use> {
  const projectId = params['projectId'] ?? '';
  const [domain, settings] = await Promise.all([
    api.call<Domain>('GET', apiPath(domainPath(projectId, hostname))),
    api.call<Settings>('GET', apiPath(`${projectPath(projectId)}/domain-settings`)),
  ]);
  if (!domain.ok || !settings.ok) return 'free';
  const { primary, redirects } = settings.body.domains;
  if (redirects.some(({ from }) => from === hostname)) return 'redirects';
  const isTarget = primary === hostname || redirects.some(({ to }) => to === hostname);
  return isTarget || domain.body.status !== 'pending' ? 'in_use' : 'free';
}

/** `error`: a refused form. Names that have no counterpart are added on the list. */
async function pairPage(asked: SignedInRequest, error: ErrorBody | null): Promise<PageContent> {
  const { api, form: typed, link, params, query, session } = asked;
  const path = projectPath(params['projectId'] ?? '');
  const [project, reading] = await Promise.all([
    api.call<ProjectView>('GET', apiPath(path)),
    readName(asked, typed.get('hostname') ?? query.get('hostname') ?? ''),
  ]);
  if (!project.ok) return refusedPage(project.error, asked);
  if (!reading.ok) return refusedPage(reading.error, asked);
  const { hostname, unicodeHostname } = reading.body;
  const other = counterpartOf(reading.body);
  const use = other === null ? 'free' : await useOf(asked, other);
  const fields = html`<input type="hidden" name="hostname" value="${hostname}">
${radioField('www', 'With or without www', choicesFor(reading.body, use))}
<div class="actions"><button class="btn primary">Add</button> <a href="${link(`${path}/domains`)}">Cancel</a></div>`;
  return {
    kind: 'page',
    status: error?.status ?? 200,
    title: `Add ${unicodeHostname}`,
    above: [
      { text: 'Projects', path: '/projects' },
      { text: project.body.name, path: `${path}/domains` },
    ],
    main: html`<header class="head"><div class="head-title"><h1>Add ${unicodeHostname}</h1></div></header>
${refusal(error)}
${form(link(`${path}/add`), session, fields, 'form')}`,
  };
}

/** The typed name first: it is what the customer has in mind. But a name in use keeps its role. */
function choicesFor(reading: HostnameReading, use: Use): readonly RadioChoice[] {
  const { hostname, unicodeHostname } = reading;
  const other = counterpartOf(reading);
  const only = {
    value: 'only',
    title: `Only ${unicodeHostname}`,
    words: 'The other name stays as it is.',
  };
  if (other === null || use === 'redirects') return [only];
  const otherUnicode =
    hostname === reading.zone ? `www.${unicodeHostname}` : unicodeHostname.slice(4);
  const main = {
    value: 'main',
    title: `${unicodeHostname} is the main address`,
    words: `${otherUnicode} redirects to it.`,
  };
  const redirects = {
    value: 'redirects',
    title: `${otherUnicode} ${use === 'in_use' ? 'stays' : 'is'} the main address`,
    words: `${unicodeHostname} redirects to it.`,
  };
  return use === 'in_use' ? [redirects, only] : [main, redirects, only];
}

/** Can be sent again: what is attached already stays. */
const addPair: PageHandler = async (asked) => {
  const { form: typed, params } = asked;
  const projectId = params['projectId'] ?? '';
  const reading = await readName(asked, typed.get('hostname') ?? '');
  if (!reading.ok) return pairPage(asked, reading.error);
  const { hostname } = reading.body;
  const other = counterpartOf(reading.body);
  const choice = typed.get('www');
  if (other === null || choice === 'only') {
    const refused = await attach(asked, hostname);
    return refused === null ? toDomain(projectId, hostname) : pairPage(asked, refused);
  }
  if (!(await isStillOffered(asked, hostname, other, choice))) return pairPage(asked, null);
  const [main, from] = choice === 'redirects' ? [other, hostname] : [hostname, other];
  const refused =
    (await attach(asked, hostname)) ??
    (await attach(asked, other)) ??
    (await connect(asked, main, from));
  return refused === null ? toDomain(projectId, main) : pairPage(asked, refused);
};

function toDomain(projectId: string, hostname: string): PageAnswer {
  return { kind: 'see_other', path: domainPath(projectId, hostname) };
}

/**
 * The form can be outdated: the other name may be in use by now. A repeated form stays valid if its
 * choice is stored.
 */
async function isStillOffered(
  asked: SignedInRequest,
  hostname: string,
  other: string,
  choice: string | null,
): Promise<boolean> {
  const use = await useOf(asked, other);
  if (use === 'free') return true;
  if (choice === 'redirects') return use === 'in_use';
  const { api, params } = asked;
  const path = apiPath(`${projectPath(params['projectId'] ?? '')}/domain-settings`);
  const settings = await api.call<Settings>('GET', path);
  const isStored = ({ from, to }: Settings['domains']['redirects'][number]) =>
    from === other && to === hostname;
  return settings.ok && settings.body.domains.redirects.some(isStored);
}

/** Null if the project has the name now. */
async function attach({ api, params }: SignedInRequest, hostname: string) {
  const projectId = params['projectId'] ?? '';
  const path = apiPath(`${projectPath(projectId)}/domains`);
  const answer = await api.call<Domain>('POST', path, { hostname });
  if (answer.ok) return null;
  const own = await api.call<Domain>('GET', apiPath(domainPath(projectId, hostname)));
  return own.ok ? null : answer.error;
}

/** Null if stored. The first main address is the project's primary domain. */
async function connect(asked: SignedInRequest, main: string, from: string) {
  const redirected = await changeSettings(asked, withRedirect({ from, to: main, status: 301 }));
  if (!redirected.ok) return redirected.error;
  if (hasPrimary(redirected)) return null;
  const primary = await changeSettings(asked, withPrimary(main));
  return primary.ok ? null : primary.error;
}

function hasPrimary({ body }: { readonly body: Settings }): boolean {
  return body.domains.primary !== null;
}

/** The script inserts the element `reading` below the field; it also works as a page. */
const readingPage: PageHandler = async (asked) => {
  const answer = await readName(asked, asked.query.get('hostname') ?? '');
  const words = answer.ok
    ? readAs(answer.body)
    : html`<span class="refused">${answer.error.message}</span>`;
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
