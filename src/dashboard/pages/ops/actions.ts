import type { ErrorBody } from '../../../http/pipeline/errors.ts';
import { workplaces } from '../../../http/schemas/operations.ts';
import { type Html, html } from '../../../net/html.ts';
import type { WatchedDomainView } from '../../client.ts';
import { form, type PageHandler, type PageRoute, type SignedInRequest } from '../../layout.ts';
import { problemPage } from '../problem.ts';
import { watchedPage } from './domain.ts';
import { operationsCrumb, operationsPath, refusedToOperator, watchedPath } from './find.ts';

/** `path`: of both pages, relative to the domain's page. */
type Action = {
  readonly path: string;
  readonly title: string;
  /** Null if the URL is invalid: then the page is not found. */
  readonly words: (asked: SignedInRequest) => Html | null;
  readonly button: string;
  /** The query parameter that the form repeats. */
  readonly field?: string;
  /** The API operation, always a POST. */
  readonly call: (asked: SignedInRequest) => readonly [path: string, body?: object];
};

const idOf = ({ params }: SignedInRequest) => params['domainId'] ?? '';
const queueIn = (given: URLSearchParams) => workplaces.find((one) => one === given.get('queue'));

const actions: readonly Action[] = [
  {
    path: '/run',
    title: 'Run it now',
    words: ({ query }) => {
      const queue = queueIn(query);
      return queue === undefined
        ? null
        : html`<p>Runs the domain’s work in <code>${queue}</code> now instead of when it is due. A quarantined job is retried once; if it fails again, it is quarantined for longer.</p>
<p>Delays requested by the certificate authority still apply.</p>`;
    },
    button: 'Run it now',
    field: 'queue',
    call: (asked) => [`${operationsPath(idOf(asked))}/run`, { queue: queueIn(asked.form) }],
  },
  {
    path: '/verify',
    title: 'Re-verify',
    words: () =>
      html`<p>Checks its DNS now. A pending or failed domain starts a new verification window with the same record. A verified domain’s order runs now. A live or drifted domain keeps its status.</p>`,
    button: 'Re-verify',
    call: (asked) => [`${operationsPath(idOf(asked))}/verify`],
  },
  {
    path: '/escalations/:escalationId/close',
    title: 'Close the escalation',
    words: () =>
      html`<p>Close it once you’ve fixed its cause. It closes automatically when the certificate is issued. If the cause persists, the next check opens a new escalation and retries the order.</p>`,
    button: 'Close it',
    call: ({ params }) => [
      `/v1/escalations/${encodeURIComponent(params['escalationId'] ?? '')}/close`,
    ],
  },
];

/** GET asks for confirmation, POST runs the action. The API checks the key's permission. */
export function actionPages(): readonly PageRoute[] {
  return actions.flatMap((action) => {
    const path = `/ops/domains/:domainId${action.path}`;
    return [
      { method: 'GET', path, handle: confirmation(action) },
      { method: 'POST', path, handle: doing(action) },
    ] as const;
  });
}

function confirmation({ path, title, words, button, field }: Action): PageHandler {
  return async (asked) => {
    const { api, link, params, query, session } = asked;
    const found = await api.call<WatchedDomainView>('GET', operationsPath(idOf(asked)));
    if (!found.ok) return refusedToOperator(found.error, asked);
    const said = words(asked);
    if (said === null) return problemPage('not_found', asked);
    const { unicodeHostname } = found.body.domain;
    const back = watchedPath(idOf(asked));
    const target = `${back}${path.replace(':escalationId', encodeURIComponent(params['escalationId'] ?? ''))}`;
    const carried =
      field === undefined
        ? null
        : html`<input type="hidden" name="${field}" value="${query.get(field) ?? ''}">`;
    return {
      kind: 'page',
      section: 'operations',
      title: `${title}: ${unicodeHostname}`,
      above: [operationsCrumb, { text: unicodeHostname, path: back }],
      main: html`<header class="head"><div class="head-title"><h1 id="ask">${title}: ${unicodeHostname}?</h1></div></header>
<section class="card prose" aria-labelledby="ask">${said}
${form(link(target), session, html`${carried}<div class="actions"><button class="btn primary">${button}</button> <a href="${link(back)}">Leave it</a></div>`, null, 'admin')}</section>`,
    };
  };
}

function doing({ call }: Action): PageHandler {
  return async (asked) => {
    const [path, body] = call(asked);
    const answer = await asked.api.call('POST', path, body);
    if (answer.ok) return { kind: 'see_other', path: watchedPath(idOf(asked)) };
    return shownRefused(asked, answer.error);
  };
}

async function shownRefused(asked: SignedInRequest, error: ErrorBody) {
  return error.code === 'insufficient_scope'
    ? refusedToOperator(error, asked)
    : watchedPage(asked, error);
}
