/** Operators choose the account whose projects and keys the other pages show. */
import { sessionAuthorization } from '../../http/keys/auth.ts';
import { type ErrorBody, refuse } from '../../http/pipeline/errors.ts';
import { type Html, html } from '../../net/html.ts';
import type { AccountView } from '../client.ts';
import {
  form,
  type PageContent,
  type PageHandler,
  type PageRoute,
  type SignedInRequest,
} from '../layout.ts';
import { badge, empty, refusal } from '../parts/elements.ts';
import { textField } from '../parts/fields.ts';
import { type Column, pagePath, pager, table } from '../parts/table.ts';
import { offers, type Sessions } from '../session.ts';
import { refusedPage } from './problem.ts';

const PAGE_SIZE = 50;

export function accountPages(sessions: Sessions): readonly PageRoute[] {
  return [
    { method: 'GET', path: '/accounts', handle: (asked) => listPage(asked, null) },
    { method: 'POST', path: '/accounts', handle: makeAccount },
    { method: 'POST', path: '/accounts/choose', handle: (asked) => choose(sessions, asked) },
  ];
}

/** Without the chosen account, which would hide the others. */
function apiOfAll({ apiWith, session }: SignedInRequest) {
  return apiWith(sessionAuthorization(session.token));
}

async function listPage(asked: SignedInRequest, error: ErrorBody | null): Promise<PageContent> {
  const { link, query, session } = asked;
  const path = pagePath('/v1/accounts', query, PAGE_SIZE);
  const answer = await apiOfAll(asked).call<readonly AccountView[]>('GET', path);
  if (!answer.ok) return refusedPage(answer.error, asked);
  const all = session.account === null ? null : chooser(asked, null, 'Show all accounts');
  return {
    kind: 'page',
    section: 'accounts',
    status: error?.status ?? 200,
    title: 'Accounts',
    main: html`<header class="head"><div class="head-title"><h1>Accounts</h1></div><div class="head-actions">${all}</div></header>
<div class="stack"><p class="quiet">Projects and keys show the account that you choose. Its customer sees the same with a key of the account.</p>
${answer.body.length === 0 ? empty('No more accounts', 'You are past the last one.') : table('Accounts', columns(asked), answer.body)}
${pager(query, answer.next, link('/accounts'))}
${offers(session, 'admin') ? maker(asked, error) : refusal(error)}</div>`,
  };
}

function columns(asked: SignedInRequest): readonly Column<AccountView>[] {
  return [
    { heading: 'Name', cell: named, names: true },
    { heading: 'ID', cell: ({ id }) => html`<code>${id}</code>` },
    {
      heading: 'Domains',
      cell: ({ limits }) => (limits.domains === null ? 'no limit' : `up to ${limits.domains}`),
    },
    { heading: 'Show', cell: (account) => act(asked, account) },
  ];
}

function named({ name, isDefault, closedAt }: AccountView): Html {
  const state = closedAt !== null ? 'closed' : isDefault ? 'default account' : null;
  return html`${name}${state === null ? null : html` <span class="quiet small">${state}</span>`}`;
}

function act(asked: SignedInRequest, account: AccountView): Html | string {
  if (asked.session.account?.id === account.id) return badge('ok', 'Chosen');
  const canChoose = asked.session.reach === 'installation' && account.closedAt === null;
  return canChoose ? chooser(asked, account, 'Choose') : '';
}

/** Null: all accounts. */
function chooser({ link, session }: SignedInRequest, account: AccountView | null, words: string) {
  const label = account === null ? words : `${words} ${account.name}`;
  const fields = html`<input type="hidden" name="account" value="${account?.id ?? ''}"><button class="btn sm" aria-label="${label}">${words}</button>`;
  return form(link('/accounts/choose'), session, fields, null, null);
}

function maker({ form: typed, link, session }: SignedInRequest, error: ErrorBody | null): Html {
  const fields = html`${refusal(error)}${textField({ name: 'name', label: 'Name', value: typed.get('name') ?? '' })}<button class="btn primary">Create account</button>`;
  const open = html`${error !== null ? html` open` : null}`;
  return html`<details class="card fold"${open}><summary>New account</summary><div>${form(link('/accounts'), session, fields, 'form', 'admin')}</div></details>`;
}

const makeAccount: PageHandler = async (asked) => {
  const name = (asked.form.get('name') ?? '').trim();
  const answer = await apiOfAll(asked).call<AccountView>('POST', '/v1/accounts', { name });
  return answer.ok ? { kind: 'see_other', path: '/accounts' } : listPage(asked, answer.error);
};

/** A new cookie of the same session. */
async function choose(sessions: Sessions, asked: SignedInRequest) {
  const { form: typed, session } = asked;
  const id = typed.get('account') ?? '';
  if (id === '') {
    const cookie = await sessions.choose(session, null);
    return { kind: 'see_other', path: '/projects', cookie } as const;
  }
  const path = `/v1/accounts/${encodeURIComponent(id)}`;
  const answer = await apiOfAll(asked).call<AccountView>('GET', path);
  if (!answer.ok) return listPage(asked, answer.error);
  const { name, closedAt } = answer.body;
  if (closedAt !== null) return listPage(asked, refuse('account_closed').body);
  const cookie = await sessions.choose(session, { id: answer.body.id, name });
  return { kind: 'see_other', path: '/projects', cookie } as const;
}
