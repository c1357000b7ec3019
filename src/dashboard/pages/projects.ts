import type { ErrorBody } from '../../http/pipeline/errors.ts';
import { type Html, html } from '../../net/html.ts';
import type { ProjectView } from '../client.ts';
import { apiPath, projectPath } from '../client.ts';
import {
  form,
  type Link,
  type PageContent,
  type PageHandler,
  type PageRoute,
  type SignedInRequest,
} from '../layout.ts';
import { copyable, empty, refusal } from '../parts/elements.ts';
import { choiceField, type SelectOption, textField } from '../parts/fields.ts';
import { icon } from '../parts/icons.ts';
import { pagePath, pager } from '../parts/table.ts';
import { offers } from '../session.ts';
import { refusedPage } from './problem.ts';

export function projectPages(): readonly PageRoute[] {
  return [
    { method: 'GET', path: '/projects', handle: (asked) => listPage(asked, null) },
    { method: 'POST', path: '/projects', handle: makeProject },
  ];
}

const PAGE_SIZE = 100;

const planChoices: readonly SelectOption[] = [
  { value: 'free', text: 'Free (no custom domains)' },
  { value: 'pro', text: 'Pro' },
  { value: 'enterprise', text: 'Enterprise' },
];

async function listPage(asked: SignedInRequest, error: ErrorBody | null): Promise<PageContent> {
  const { api, link, query } = asked;
  const path = pagePath('/v1/projects', query, PAGE_SIZE);
  const answer = await api.call<readonly ProjectView[]>('GET', path);
  if (!answer.ok) return refusedPage(answer.error, asked);
  const { body: items, next } = answer;
  const isEmpty = items.length === 0 && query.get('cursor') === null;
  return {
    kind: 'page',
    status: error?.status ?? 200,
    title: 'Projects',
    main: html`<header class="head"><div class="head-title"><h1>Projects</h1></div></header>
<div class="stack">${isEmpty ? empty('No projects yet', 'A project is what your domains point to: a site, a shop, an API.') : html`<ul class="card rows">${items.map((project) => row(project, link))}</ul>`}
${pager(query, next, link('/projects'))}
${offers(asked.session, 'projects:write') && asked.session.reach !== 'projects' ? maker(asked, error, isEmpty) : null}</div>`,
  };
}

function row({ id, name, slug, plan, deployedAt }: ProjectView, link: Link): Html {
  const tone = deployedAt === null ? 'idle' : 'ok';
  const state = deployedAt === null ? 'Not deployed yet' : 'Deployed';
  return html`<li data-tone="${tone}">${icon(tone)}<div class="what"><p class="name"><a href="${link(`/projects/${id}/domains`)}">${name}</a></p><p class="why">${slug} · ${plan} plan · ${state}</p></div></li>`;
}

function maker(
  { form: typed, link, session }: SignedInRequest,
  error: ErrorBody | null,
  isOpen: boolean,
) {
  const problem = error?.code === 'slug_taken' ? error.message : null;
  const fields = html`${problem === null ? refusal(error) : null}
${textField({ name: 'name', label: 'Name', value: typed.get('name') ?? '' })}
${textField({
  name: 'slug',
  label: 'Slug (optional)',
  value: typed.get('slug') ?? '',
  hint: 'Lowercase letters, digits and hyphens. Leave it empty to derive it from the name.',
  isOptional: true,
  problem,
})}
${choiceField(
  {
    name: 'plan',
    label: 'Plan',
    value: typed.get('plan') ?? 'pro',
    hint: 'What your customer has in your product.',
  },
  planChoices,
)}
<button class="btn primary">Create project</button>`;
  const open = html`${isOpen || error !== null ? html` open` : null}`;
  return html`<details class="card fold"${open}><summary>New project</summary><div>${form(link('/projects'), session, fields, 'form', 'projects:write')}</div></details>`;
}

const makeProject: PageHandler = async (asked) => {
  const name = (asked.form.get('name') ?? '').trim();
  const slug = (asked.form.get('slug') ?? '').trim() || slugFrom(name);
  const body = { name, slug, plan: asked.form.get('plan') ?? 'free' };
  const answer = await asked.api.call<ProjectView>('POST', '/v1/projects', body);
  return answer.ok
    ? { kind: 'see_other', path: `/projects/${answer.body.id}/domains` }
    : listPage(asked, answer.error);
};

/** `Café du Nord!` becomes `cafe-du-nord`. Empty if no ASCII letter or digit remains. */
export function slugFrom(name: string): string {
  return name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 63)
    .replace(/^-+|-+$/g, '');
}

/** A parameter, because that page imports this file. */
type ShowDomains = (asked: SignedInRequest, error: ErrorBody) => Promise<PageContent>;

/** Both return to the project's domains; `show` renders errors. */
export function prerequisitePages(show: ShowDomains): readonly PageRoute[] {
  const changed =
    (method: string, below: string, bodyOf: (form: URLSearchParams) => object): PageHandler =>
    async (asked) => {
      const path = projectPath(asked.params['projectId'] ?? '');
      const answer = await asked.api.call(method, apiPath(`${path}${below}`), bodyOf(asked.form));
      return answer.ok ? { kind: 'see_other', path: `${path}/domains` } : show(asked, answer.error);
    };
  return [
    {
      method: 'POST',
      path: '/projects/:projectId/plan',
      handle: changed('PATCH', '', (typed) => ({ plan: typed.get('plan') })),
    },
    {
      method: 'POST',
      path: '/projects/:projectId/deploys',
      handle: changed('POST', '/deploys', (typed) => ({
        status: 'succeeded',
        upstream: (typed.get('upstream') ?? '').trim(),
      })),
    },
  ];
}

/** Prerequisites for adding domains; null if all are met. `error`: of one of the forms. */
export function missingSteps(
  asked: SignedInRequest,
  project: ProjectView,
  error: ErrorBody | null,
): Html | null {
  const hasPlan = project.plan !== 'free';
  const hasDeploy = project.deployedAt !== null;
  if (hasPlan && hasDeploy) return null;
  const count = Number(hasPlan) + Number(hasDeploy);
  return html`<section class="card" aria-labelledby="missing"><div class="card-head"><h2 id="missing">Before your first domain</h2><span class="quiet small">${count} of 2 done</span></div>
<ol class="todo">
${todo('Paid plan', hasPlan ? null : planStep(asked, error))}
${todo('Deploy address', hasDeploy ? null : deployStep(asked, error))}
</ol></section>`;
}

/** `step`: null if it is done. */
function todo(title: string, step: Html | null): Html {
  const tone = step === null ? 'ok' : 'idle';
  return html`<li data-tone="${tone}">${icon(tone)}<div><h3>${title}${step === null ? html`<span class="unseen"> (done)</span>` : null}</h3>${step}</div></li>`;
}

function planStep(
  { form: typed, link, params, session }: SignedInRequest,
  error: ErrorBody | null,
) {
  const path = link(`${projectPath(params['projectId'] ?? '')}/plan`);
  const fields = html`${typed.has('plan') ? refusal(error) : null}<input type="hidden" name="plan" value="pro"><button class="btn primary">Switch to Pro</button>`;
  return html`<p class="quiet small">New domains require Pro or higher. Domains that are live stay live and are renewed.</p>${form(path, session, fields, 'form', 'projects:write')}`;
}

function deployStep(
  { form: typed, link, params, session }: SignedInRequest,
  error: ErrorBody | null,
) {
  const path = link(`${projectPath(params['projectId'] ?? '')}/deploys`);
  const button = html`<button class="btn primary">Save</button>`;
  const field = {
    name: 'upstream',
    label: 'Where your site runs',
    value: typed.get('upstream') ?? '',
    placeholder: 'https://docs.internal.example/',
    inputmode: 'url',
    hint: 'Visitors’ requests are proxied to this URL.',
    problem: typed.has('upstream')
      ? (error?.message.replace(/^upstream: must/, 'It must') ?? null)
      : null,
  } as const;
  const call = `POST ${apiPath(projectPath(params['projectId'] ?? ''))}/deploys`;
  return html`${form(path, session, textField(field, button), null, 'projects:write')}
<p class="quiet small">Or let your deploy script report it with <a href="${link('/docs')}">the API</a>:</p><p class="code-line">${copyable(call, 'the call')}</p>`;
}
