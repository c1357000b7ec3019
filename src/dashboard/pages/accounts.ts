/** The accounts, for administrators of the installation: making one, and choosing whose things are shown. */
import type { ErrorBody } from '../../http/pipeline/errors.ts';
import { type Html, html } from '../../net/html.ts';
import type { Account } from '../client.ts';
import { sessionCookie } from '../cookies.ts';
import {
  chooser,
  form,
  type Page,
  type PageAnswer,
  type PageRoute,
  type Shown,
  type SignedInRequest,
} from '../layout.ts';
import { refusal, relativeTime, textField } from '../parts/elements.ts';
import { paged, pager, table } from '../parts/table.ts';
import { mayChooseAccount } from '../session.ts';
import type { SessionActs } from '../session-acts.ts';
import { needsOperator } from './access.ts';
import { accountKeyPages, stateOf } from './account.ts';
import { refusedPage } from './problem.ts';
import { ownPath } from './sign-in.ts';

/** The list of accounts, the form that makes one, that which chooses one, and the page of each. */
export function accountPages(sessions: Pick<SessionActs, 'actFor'>): readonly PageRoute[] {
  return [
    { method: 'GET', path: '/accounts', handle: forOperators((asked) => listPage(asked, null)) },
    { method: 'POST', path: '/accounts', handle: forOperators(makeAccount) },
    {
      method: 'POST',
      path: '/accounts/choose',
      handle: forOperators((asked) => choose(sessions, asked)),
    },
    ...accountKeyPages().map((one) => ({ ...one, handle: forOperators(one.handle) })),
  ];
}

/** The API as the key reaches it, whichever account is chosen: another one may be chosen from there. */
function forOperators(page: Page): Page {
  return async (asked) => {
    if (!mayChooseAccount(asked.session)) return needsOperator(asked);
    return page({ ...asked, api: asked.apiWith(asked.session.apiKey) });
  };
}

const PAGE_SIZE = 100;

async function listPage(asked: SignedInRequest, error: ErrorBody | null): Promise<Shown> {
  const { api, link, now, query, session } = asked;
  const answer = await api.all<Account>('/v1/accounts');
  if (!answer.ok) return refusedPage(answer.error, asked);
  const { items, ...at } = paged(answer.body, query.get('page'), PAGE_SIZE);
  const isChosen = ({ id }: Account) => id === session.account?.id;
  return {
    kind: 'page',
    status: error?.status ?? 200,
    title: 'Accounts',
    main: html`<h1>Accounts</h1>
<p class="quiet under">Customers of the platform. Each sees its own projects and keys, and nothing of another one’s.</p>
${table<Account>(
  'Accounts, the oldest first',
  [
    {
      heading: 'Account',
      names: true,
      cell: ({ id, name }) => html`<a href="${link(`/accounts/${id}`)}">${name}</a>`,
    },
    { heading: 'State', cell: (one) => stateOf(one, isChosen(one)) },
    { heading: 'Created', cell: ({ createdAt }) => relativeTime(createdAt, now) },
    { heading: 'Actions', cell: (one) => actButton(asked, one, isChosen(one)) },
  ],
  items,
)}
${pager(at, link('/accounts'))}
${maker(asked, error)}`,
  };
}

function actButton(
  { link, session }: SignedInRequest,
  { id, name, closedAt }: Account,
  isChosen: boolean,
): Html | string {
  if (closedAt !== null || isChosen) return '';
  const button = html`<button class="plain" aria-label="Switch to ${name}">Switch</button>`;
  return chooser(link, session, { accountId: id, path: '/projects' }, button);
}

function maker({ form: typed, link, session }: SignedInRequest, error: ErrorBody | null): Html {
  const field = { name: 'name', label: 'Name', value: typed.get('name') ?? '' };
  const fields = html`${refusal(error)}${textField(field)}<button>Create account</button>`;
  const open = html`${error === null ? null : html` open`}`;
  return html`<details class="disclosure"${open}><summary>New account</summary>${form(link('/accounts'), session, fields)}</details>`;
}

const makeAccount: Page = async (asked) => {
  const name = (asked.form.get('name') ?? '').trim();
  const answer = await asked.api.call<Account>('POST', '/v1/accounts', { name });
  return answer.ok
    ? { kind: 'see_other', path: `/accounts/${answer.body.id}` }
    : listPage(asked, answer.error);
};

/** The session goes on under another token, so that every process sees the choice at once, and no form of before counts. */
async function choose(
  { actFor }: Pick<SessionActs, 'actFor'>,
  asked: SignedInRequest,
): Promise<PageAnswer> {
  const { api, form: typed, from, headers, now, session } = asked;
  const id = typed.get('account') || null;
  if (id !== null) {
    const answer = await api.call<Account>('GET', `/v1/accounts/${encodeURIComponent(id)}`);
    if (!answer.ok) return listPage(asked, answer.error);
    if (answer.body.closedAt !== null) return listPage(asked, closed);
  }
  const token = await actFor(session, id, from);
  const lifetimeS = Math.floor((session.expiresAt.getTime() - now.getTime()) / 1_000);
  const path = ownPath(typed.get('then')) ?? '/projects';
  if (token === null) return { kind: 'see_other', path: '/' };
  return { kind: 'see_other', path, cookie: sessionCookie(headers, token, lifetimeS) };
}

const closed: ErrorBody = {
  code: 'account_not_found',
  message: 'This account is closed: nobody acts for it.',
  status: 404,
};
