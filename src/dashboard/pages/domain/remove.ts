/** Removing a domain with its settings, or redirecting it instead. */

import type { ErrorBody } from '../../../http/pipeline/errors.ts';
import { type Html, html } from '../../../net/html.ts';
import type { Domain, ProjectView, Settings } from '../../client.ts';
import { apiPath, domainPath, projectPath } from '../../client.ts';
import {
  form,
  type PageContent,
  type PageHandler,
  type PageRoute,
  type SignedInRequest,
} from '../../layout.ts';
import { refusal } from '../../parts/elements.ts';
import { choiceField } from '../../parts/fields.ts';
import { refusedPage } from '../problem.ts';
import { changeSettings, withRedirect } from '../settings.ts';

export function removalPages(): readonly PageRoute[] {
  const path = '/projects/:projectId/domains/:hostname';
  return [
    { method: 'GET', path: `${path}/remove`, handle: (asked) => removalPage(asked) },
    { method: 'POST', path: `${path}/remove`, handle: remove },
    { method: 'POST', path: `${path}/redirect`, handle: redirectInstead },
  ];
}

/** Redirect targets offered; the settings page accepts any. */
const CHOICES_MAX = 100;

/** `error`: a refused form. */
async function removalPage(
  asked: SignedInRequest,
  error: ErrorBody | null = null,
): Promise<PageContent> {
  const { api, params } = asked;
  const inProject = projectPath(params['projectId'] ?? '');
  const path = domainPath(params['projectId'] ?? '', params['hostname'] ?? '');
  const [project, domain, domains, settings] = await Promise.all([
    api.call<ProjectView>('GET', apiPath(inProject)),
    api.call<Domain>('GET', apiPath(path)),
    api.call<readonly Domain[]>('GET', apiPath(`${inProject}/domains?limit=${CHOICES_MAX}`)),
    api.call<Settings>('GET', apiPath(`${inProject}/domain-settings`)),
  ]);
  if (!project.ok) return refusedPage(project.error, asked);
  if (!domain.ok) return refusedPage(domain.error, asked);
  if (!domains.ok) return refusedPage(domains.error, asked);
  if (!settings.ok) return refusedPage(settings.error, asked);
  const { hostname, unicodeHostname } = domain.body;
  // Live domains first: visitors can be redirected there now.
  const isLive = (one: Domain) => Number(one.status === 'live');
  const others = domains.body
    .filter((one) => one.hostname !== hostname && !isRedirected(one.hostname, settings.body))
    .toSorted((one, other) => isLive(other) - isLive(one))
    .map((one) => one.hostname);
  return {
    kind: 'page',
    status: error?.status ?? 200,
    title: `Remove ${unicodeHostname}`,
    above: [
      { text: 'Projects', path: '/projects' },
      { text: project.body.name, path: `${inProject}/domains` },
      { text: unicodeHostname, path },
    ],
    main: html`<header class="head"><div class="head-title"><h1>Remove ${unicodeHostname}?</h1></div></header>
<div class="stack">${refusal(error)}
<p>Removal stops serving traffic <strong>at once</strong>. Links to ${unicodeHostname} stop working. If people use its address, set up a redirect first.</p>
${redirectOffer(asked, hostname, others, settings.body)}
${removalForm(asked, hostname, settings.body)}</div>`,
  };
}

/** A redirect to it would lead on to another one, or in a circle. */
function isRedirected(hostname: string, { domains }: Settings): boolean {
  return domains.redirects.some(({ from }) => from === hostname);
}

/** Why the domain cannot redirect now. Null: it can. */
function obstacle(hostname: string, { domains }: Settings): string | null {
  if (domains.primary === hostname) {
    return `${hostname} is the primary domain. Choose another primary domain first.`;
  }
  const [first, ...more] = domains.redirects.filter(({ to }) => to === hostname);
  if (first === undefined) return null;
  const names = more.length === 0 ? first.from : `${first.from} and ${more.length} more`;
  return `${names} ${more.length === 0 ? 'redirects' : 'redirect'} to ${hostname}. Change that first.`;
}

function redirectOffer(
  { link, params, session }: SignedInRequest,
  hostname: string,
  others: readonly string[],
  settings: Settings,
): Html {
  const inProject = projectPath(params['projectId'] ?? '');
  const title = html`<div class="card-head"><h2 id="instead">Redirect it instead</h2></div>`;
  const why = obstacle(hostname, settings);
  if (why !== null) {
    return html`<section class="card" aria-labelledby="instead">${title}<div class="card-body"><p>${why} <a href="${link(`${inProject}/settings`)}">Redirects</a></p></div></section>`;
  }
  if (others.length === 0) {
    return html`<section class="card" aria-labelledby="instead">${title}<div class="card-body"><p>There is no other domain to redirect to yet. <a href="${link(`${inProject}/domains`)}">Add the new one first.</a></p></div></section>`;
  }
  const choices = others.map((one) => ({ value: one, text: one }));
  const fields = html`${choiceField({ name: 'to', label: `Send visitors of ${hostname} to` }, choices)}<button class="btn primary">Redirect</button>`;
  const path = link(`${domainPath(params['projectId'] ?? '', hostname)}/redirect`);
  return html`<section class="card" aria-labelledby="instead">${title}<div class="card-body prose"><p>The domain stays attached, keeps its certificate and redirects visitors with path and query (301).</p>${form(path, session, fields, 'form')}</div></section>`;
}

function removalForm(
  { link, params, session }: SignedInRequest,
  hostname: string,
  settings: Settings,
): Html {
  const goes = goesWithIt(hostname, settings);
  const path = link(domainPath(params['projectId'] ?? '', hostname));
  const list =
    goes.length === 0
      ? null
      : html`<p>These settings are removed too:</p><ul>${goes.map((words) => html`<li>${words}</li>`)}</ul><input type="hidden" name="orphans" value="drop">`;
  const fields = html`${list}<div class="actions"><button class="btn danger">Remove ${hostname}</button> <a href="${path}">Keep it</a></div>`;
  return html`<section class="card" aria-labelledby="removal"><div class="card-head"><h2 id="removal">Remove it</h2></div><div class="card-body prose"><p>Its history is kept. If you add it again, its DNS record stays the same.</p>${form(`${path}/remove`, session, fields, 'prose')}</div></section>`;
}

/** Settings removed with the domain; if empty, the form has no `orphans` field. */
function goesWithIt(hostname: string, { domains }: Settings): readonly string[] {
  const { primary, redirects } = domains;
  return [
    ...(primary === hostname ? ['It is the primary domain. The project will have none.'] : []),
    ...redirects
      .filter(({ from, to }) => from === hostname || to === hostname)
      .map(({ from, to, status }) => `The redirect from ${from} to ${to} (${status}).`),
  ];
}

const remove: PageHandler = async (asked) => {
  const { api, form: typed, params } = asked;
  const [projectId, hostname] = [params['projectId'] ?? '', params['hostname'] ?? ''];
  const orphans = typed.get('orphans') === 'drop' ? '?orphans=drop' : '';
  const answer = await api.call('DELETE', `${apiPath(domainPath(projectId, hostname))}${orphans}`);
  if (!answer.ok) return removalPage(asked, answer.error);
  const removed = encodeURIComponent(hostname);
  return { kind: 'see_other', path: `${projectPath(projectId)}/domains?removed=${removed}` };
};

const redirectInstead: PageHandler = async (asked) => {
  const { form: typed, params } = asked;
  const [projectId, from] = [params['projectId'] ?? '', params['hostname'] ?? ''];
  const redirect = { from, to: typed.get('to') ?? '', status: 301 };
  const answer = await changeSettings(asked, withRedirect(redirect));
  return answer.ok
    ? { kind: 'see_other', path: `${projectPath(projectId)}/settings` }
    : removalPage(asked, answer.error);
};
