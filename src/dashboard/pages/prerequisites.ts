/** What a project needs before it can have domains of its own: a paid plan, and a deploy that succeeded. */

import type { ErrorBody } from '../../http/pipeline/errors.ts';
import { type Html, html } from '../../net/html.ts';
import type { Project } from '../client.ts';
import { form, type Page, type PageRoute, type Shown, type SignedInRequest } from '../layout.ts';
import { textField } from '../parts/fields.ts';
import { copyable, refusal } from '../parts/part.ts';
import { apiPath, projectPath } from '../paths.ts';

type ShowDomains = (asked: SignedInRequest, error: ErrorBody) => Promise<Shown>;

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

/** The steps before the first domain; null where nothing is missing. */
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
<li${done(hasPlan)}>${hasPlan ? 'A paid plan: there.' : planStep(asked, error)}</li>
<li${done(hasDeploy)}>${hasDeploy ? 'A successful deploy: there.' : deployStep(asked, error)}</li>
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
  return html`<p><strong>A paid plan.</strong> Your own domain takes Pro or above.</p>${form(path, session, fields)}`;
}

function deployStep(
  { form: typed, link, params, session }: SignedInRequest,
  error: ErrorBody | null,
) {
  const path = link(`${projectPath(params['projectId'] ?? '')}/deploys`);
  const fields = html`${textField({
    name: 'upstream',
    label: 'Address of the deploy',
    value: typed.get('upstream') ?? '',
    placeholder: 'https://docs.internal.example/',
    inputmode: 'url',
    hint: 'Where it runs: the requests of the domains’ visitors are passed on to it.',
    problem: typed.has('upstream') ? (error?.message ?? null) : null,
  })}<button>Report the deploy</button>`;
  const call = `POST ${apiPath(projectPath(params['projectId'] ?? ''))}/deploys`;
  return html`<p><strong>A successful deploy.</strong> It is what your domains will show. Report it here, or from what deploys the project, over <a href="${link('/docs')}">the API</a>:</p><p class="call">${copyable(call, 'the call')}</p>${form(path, session, fields)}`;
}
