/** What an administrator sets going: each is asked about on a page of its own, and done by its form. */

import type { ErrorBody } from '../../../http/pipeline/errors.ts';
import { workplaces } from '../../../http/schemas/operations.ts';
import { type Html, html } from '../../../net/html.ts';
import type { WatchedDomain } from '../../client.ts';
import { form, type Page, type PageRoute, type SignedInRequest } from '../../layout.ts';
import { problemPage } from '../problem.ts';
import { watchedPage } from './domain.ts';
import { operationsCrumb, operationsPath, refusedToOperator, watchedPath } from './find.ts';

/** `path`: of both pages, below that of the domain. */
type Action = {
  readonly path: string;
  readonly title: string;
  /** What will happen. Null where the address names nothing that there is: the page is then not found. */
  readonly words: (asked: SignedInRequest) => Html | null;
  /** What the button that does it says. */
  readonly button: string;
  /** The name of what the address asks for and the form has to repeat. */
  readonly field?: string;
  /** The operation of the API, always a POST, that does it. */
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
        : html`<p>The domain’s work in <code>${queue}</code> is done now instead of when it is due. What was set aside is tried once; if it fails again, it is set aside for longer.</p>
<p>If the certificate authority asked us to wait, we still do.</p>`;
    },
    button: 'Run it now',
    field: 'queue',
    call: (asked) => [`${operationsPath(idOf(asked))}/run`, { queue: queueIn(asked.form) }],
  },
  {
    path: '/verify',
    title: 'Re-verify',
    words: () =>
      html`<p>Its DNS is checked at once. A pending or failed domain starts a new window of the same length, with the same record; a verified one has its order taken up; one that is served stays as it is.</p>`,
    button: 'Re-verify',
    call: (asked) => [`${operationsPath(idOf(asked))}/verify`],
  },
  {
    path: '/escalations/:escalationId/close',
    title: 'Close the escalation',
    words: () =>
      html`<p>Close it once you’ve fixed its cause. It closes by itself when the certificate comes; if the cause persists, the next check opens a new one and tries the order again.</p>`,
    button: 'Close it',
    call: ({ params }) => [
      `/v1/escalations/${encodeURIComponent(params['escalationId'] ?? '')}/close`,
    ],
  },
];

/**
 * Two pages for each action: GET asks whether to do it and changes nothing, POST does it and leads back to the
 * domain. The API decides whether the key may.
 */
export function actionPages(): readonly PageRoute[] {
  return actions.flatMap((action) => {
    const path = `/ops/domains/:domainId${action.path}`;
    const needs = { scope: 'admin', operators: true } as const;
    return [
      { method: 'GET', path, needs, handle: confirmation(action) },
      { method: 'POST', path, needs, handle: doing(action) },
    ] as const;
  });
}

/** The page that asks. It reads the domain first, so that it names what the action is about. */
function confirmation({ path, title, words, button, field }: Action): Page {
  return async (asked) => {
    const { api, link, params, query, session } = asked;
    const found = await api.call<WatchedDomain>('GET', operationsPath(idOf(asked)));
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
      title: `${title}: ${unicodeHostname}`,
      above: [operationsCrumb, { text: unicodeHostname, path: back }],
      main: html`<section class="panel narrow" aria-labelledby="ask"><h1 id="ask">${title}: ${unicodeHostname}?</h1>
${said}
${form(link(target), session, html`${carried}<div class="actions"><button>${button}</button> <a href="${link(back)}">Leave it</a></div>`)}</section>`,
    };
  };
}

/** What the form does; a refusal is shown on the domain's page. */
function doing({ call }: Action): Page {
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
