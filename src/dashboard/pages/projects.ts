/** The list of projects, and making one. */
import type { ErrorBody } from '../../http/pipeline/errors.ts';
import { type Html, html } from '../../net/html.ts';
import type { Account, Project } from '../client.ts';
import { apiPath, projectPath } from '../client.ts';
import {
  form,
  type Link,
  type Page,
  type PageRoute,
  type Shown,
  type SignedInRequest,
} from '../layout.ts';
import {
  badge,
  type Choice,
  choiceField,
  copyable,
  empty,
  refusal,
  textField,
} from '../parts/elements.ts';
import { paged, pager } from '../parts/table.ts';
import { mayChooseAccount, offers } from '../session.ts';
import { refusedPage } from './problem.ts';

/** The list of projects, and the form that makes one. */
export function projectPages(): readonly PageRoute[] {
  return [
    { method: 'GET', path: '/projects', handle: (asked) => listPage(asked, null) },
    { method: 'POST', path: '/projects', needs: writing, handle: makeProject },
  ];
}

/** What the forms of projects and domains need. */
export const writing = { scope: 'domains:write' } as const;

/** Projects on a page. */
const PAGE_SIZE = 100;

/** The plans of the API with their names. */
const planChoices: readonly Choice[] = [
  { value: 'pro', text: 'Pro' },
  { value: 'enterprise', text: 'Enterprise' },
  { value: 'free', text: 'Free (no custom domains)' },
];

async function listPage(asked: SignedInRequest, error: ErrorBody | null): Promise<Shown> {
  const { api, link, query, session } = asked;
  const [answer, names] = await Promise.all([
    api.all<Project>('/v1/projects'),
    accountNames(asked),
  ]);
  if (!answer.ok) return refusedPage(answer.error, asked);
  const mayMake = offers(session, 'domains:write') && !session.isRestricted;
  const { items, ...at } = paged(answer.body, query.get('page'), PAGE_SIZE);
  const isEmpty = answer.body.length === 0;
  return {
    kind: 'page',
    status: error?.status ?? 200,
    title: 'Projects',
    main: html`<h1>Projects</h1>
${isEmpty ? empty('No projects', 'A project is what your domains point to: a site, a shop, an API.') : html`<ul class="cards">${items.map((project) => card(project, names.get(project.accountId), link))}</ul>`}
${pager(at, link('/projects'))}
${mayMake ? maker(asked, error, isEmpty) : refusal(error)}`,
  };
}

/** Whose each project is, where those of several accounts are shown; empty elsewhere, and where nobody says. */
async function accountNames({
  api,
  session,
}: SignedInRequest): Promise<ReadonlyMap<string, string>> {
  if (session.account !== null || !mayChooseAccount(session)) return new Map();
  const answer = await api.all<Account>('/v1/accounts');
  return new Map(answer.ok ? answer.body.map(({ id, name }) => [id, name]) : []);
}

function card(
  { id, name, slug, plan, deployedAt }: Project,
  account: string | undefined,
  link: Link,
): Html {
  const state =
    deployedAt === null ? badge('quiet', 'Not deployed yet') : badge('good', 'Deployed');
  return html`<li class="card"><p><a class="title" href="${link(`/projects/${id}/domains`)}">${name}</a> ${state}</p><p class="quiet">${slug} · ${plan} plan${account === undefined ? null : ` · ${account}`}</p></li>`;
}

function maker(
  { form: typed, link, session }: SignedInRequest,
  error: ErrorBody | null,
  isOpen: boolean,
) {
  const problem = error?.code === 'slug_taken' ? error.message : null;
  const offered = planChoices.filter(({ value }) => session.plans.some((plan) => plan === value));
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
${choiceField({ name: 'plan', label: 'Plan', value: typed.get('plan') ?? 'pro' }, offered)}
<button>Create project</button>`;
  const open = html`${isOpen || error !== null ? html` open` : null}`;
  return html`<details class="disclosure"${open}><summary>New project</summary>${form(link('/projects'), session, fields)}</details>`;
}

const makeProject: Page = async (asked) => {
  const name = (asked.form.get('name') ?? '').trim();
  const slug = (asked.form.get('slug') ?? '').trim() || slugFrom(name);
  const body = { name, slug, plan: asked.form.get('plan') ?? 'pro' };
  const answer = await asked.api.call<Project>('POST', '/v1/projects', body);
  return answer.ok
    ? { kind: 'see_other', path: `/projects/${answer.body.id}/domains` }
    : listPage(asked, answer.error);
};

/**
 * A slug made of a name: `Café du Nord!` gives `cafe-du-nord`. At most 63 characters; empty where nothing of the name
 * becomes an ASCII letter or digit.
 */
export function slugFrom(name: string): string {
  return name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 63)
    .replace(/^-+|-+$/g, '');
}

/**
 * Shows the domains of the project with the refusal of a form; given here, because that page is made with this file.
 */
type ShowDomains = (asked: SignedInRequest, error: ErrorBody) => Promise<Shown>;

/**
 * The forms that change the plan and report a deploy. Both lead back to the project's domains; `show` answers one
 * that was refused.
 */
export function prerequisitePages(show: ShowDomains): readonly PageRoute[] {
  const changed =
    (method: string, below: string, bodyOf: (form: URLSearchParams) => object): Page =>
    async (asked) => {
      const path = projectPath(asked.params['projectId'] ?? '');
      const answer = await asked.api.call(method, apiPath(`${path}${below}`), bodyOf(asked.form));
      return answer.ok ? { kind: 'see_other', path: `${path}/domains` } : show(asked, answer.error);
    };
  return [
    {
      method: 'POST',
      path: '/projects/:projectId/plan',
      needs: writing,
      handle: changed('PATCH', '', (typed) => ({ plan: typed.get('plan') })),
    },
    {
      method: 'POST',
      path: '/projects/:projectId/deploys',
      needs: writing,
      handle: changed('POST', '/deploys', (typed) => ({
        status: 'succeeded',
        upstream: (typed.get('upstream') ?? '').trim(),
      })),
    },
  ];
}

/**
 * What has to be done before a project can have domains, each with its form; null where nothing is missing. `error`:
 * the refusal of one of those forms.
 */
export function missingSteps(
  asked: SignedInRequest,
  project: Project,
  error: ErrorBody | null,
): Html | null {
  const hasPlan = project.plan !== 'free';
  const hasDeploy = project.deployedAt !== null;
  if (hasPlan && hasDeploy) return null;
  return html`<section class="panel" aria-labelledby="missing"><h2 id="missing">Before the first domain</h2>
<ol class="todo">
<li${done(hasPlan)}>${hasPlan ? 'Paid plan: done' : planStep(asked, error)}</li>
<li${done(hasDeploy)}>${hasDeploy ? 'Successful deploy: done' : deployStep(asked, error)}</li>
</ol></section>`;
}

function done(isDone: boolean): Html | null {
  return isDone ? html` class="done"` : null;
}

function planStep(
  { form: typed, link, params, session }: SignedInRequest,
  error: ErrorBody | null,
) {
  const path = link(`${projectPath(params['projectId'] ?? '')}/plan`);
  const fields = html`${typed.has('plan') ? refusal(error) : null}<input type="hidden" name="plan" value="pro"><button>Switch to Pro</button>`;
  const mayChange = offers(session, 'domains:write') && session.plans.includes('pro');
  const others = session.plans.includes('pro') ? '' : ' Who runs this platform changes the plan.';
  return html`<p><strong>A paid plan.</strong> Custom domains need Pro or above.${others}</p>${mayChange ? form(path, session, fields) : null}`;
}

function deployStep(
  { form: typed, link, params, session }: SignedInRequest,
  error: ErrorBody | null,
) {
  const path = link(`${projectPath(params['projectId'] ?? '')}/deploys`);
  const fields = html`${textField({
    name: 'upstream',
    label: 'Deploy URL',
    value: typed.get('upstream') ?? '',
    placeholder: 'https://docs.internal.example/',
    inputmode: 'url',
    hint: 'Where it runs. Visitors’ requests are proxied to this URL.',
    problem: typed.has('upstream') ? (error?.message ?? null) : null,
  })}<button>Report deploy</button>`;
  const call = `POST ${apiPath(projectPath(params['projectId'] ?? ''))}/deploys`;
  if (!offers(session, 'domains:write')) {
    return html`<p><strong>A successful deploy.</strong> It is what your domains will show.</p>`;
  }
  return html`<p><strong>A successful deploy.</strong> It is what your domains will show. Report it here, or from what deploys the project, over <a href="${link('/docs')}">the API</a>:</p><p class="call">${copyable(call, 'the call')}</p>${form(path, session, fields)}`;
}
