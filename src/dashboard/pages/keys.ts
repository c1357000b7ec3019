/** The keys of the session's account, or of the installation, and their sessions. */
import { accountScopes } from '../../core/operations/scopes.ts';
import type { ErrorBody } from '../../http/pipeline/errors.ts';
import { type Html, html } from '../../net/html.ts';
import type { OwnKey, SessionView } from '../client.ts';
import {
  form,
  type PageAnswer,
  type PageContent,
  type PageHandler,
  type PageRoute,
  type SignedInRequest,
} from '../layout.ts';
import { badge, copyable, empty, refusal, relativeTime } from '../parts/elements.ts';
import { choiceField, textField } from '../parts/fields.ts';
import { type Column, pagePath, pager, table } from '../parts/table.ts';
import { offers } from '../session.ts';
import { refusedPage } from './problem.ts';

const PAGE_SIZE = 50;

export function keyPages(): readonly PageRoute[] {
  return [
    { method: 'GET', path: '/keys', handle: (asked) => listPage(asked, {}) },
    { method: 'POST', path: '/keys', handle: makeKey },
    { method: 'POST', path: '/keys/:keyId/revoke', handle: revokeKey },
    { method: 'POST', path: '/sessions/:sessionId/end', handle: endSession },
  ];
}

type NewKey = OwnKey & { readonly key: string | null };
type Shown = { readonly error?: ErrorBody; readonly minted?: NewKey };

async function listPage(asked: SignedInRequest, { error, minted }: Shown): Promise<PageContent> {
  const { api, link, query, session } = asked;
  const [answer, sessions] = await Promise.all([
    api.call<readonly OwnKey[]>('GET', pagePath('/v1/keys', query, PAGE_SIZE)),
    api.call<readonly SessionView[]>('GET', `/v1/sessions?limit=${PAGE_SIZE}`),
  ]);
  if (!answer.ok) return refusedPage(answer.error, asked);
  if (!sessions.ok) return refusedPage(sessions.error, asked);
  const { body: keys, next } = answer;
  return {
    kind: 'page',
    section: 'keys',
    status: error?.status ?? 200,
    title: 'Keys',
    main: html`<header class="head"><div class="head-title"><h1>Keys</h1></div><div class="head-actions"><a class="btn sm" href="${link('/audit')}">Audit log</a></div></header>
<div class="stack">${error === undefined ? null : refusal(error)}${minted === undefined ? null : newKey(minted)}
${keys.length === 0 ? empty('No keys', 'A key signs in here, and calls the API.') : table('Keys', columns(asked), keys)}
${pager(query, next, link('/keys'))}
${offers(session, 'keys:write') ? maker(asked, error ?? null) : null}
${signIns(asked, sessions.body)}</div>`,
  };
}

/** The token is shown once, in the response to the form. */
function newKey({ name, key }: NewKey): Html {
  return html`<section class="card" aria-labelledby="new-key"><div class="card-head"><h2 id="new-key">Copy the key ${name} now</h2></div><div class="card-body"><p>It is not shown again.</p><p class="code-line">${copyable(key ?? '', 'the key')}</p></div></section>`;
}

const tones = { active: 'ok', expired: 'idle', revoked: 'idle' } as const;
const states = { active: 'Active', expired: 'Expired', revoked: 'Revoked' } as const;

function columns({ link, now, session }: SignedInRequest): readonly Column<OwnKey>[] {
  const change: Column<OwnKey> = {
    heading: 'Change',
    cell: ({ id, name, status, scopes }) =>
      status !== 'active' || !scopes.every((scope) => offers(session, scope))
        ? ''
        : form(
            link(`/keys/${id}/revoke`),
            session,
            html`<button class="btn sm" aria-label="Revoke ${name}">Revoke</button>`,
            null,
            'keys:write',
          ),
  };
  return [
    { heading: 'Name', cell: ({ name }) => name, names: true },
    { heading: 'State', cell: ({ status }) => badge(tones[status], states[status]) },
    { heading: 'Scopes', cell: ({ scopes }) => scopes.join(', ') },
    { heading: 'Reaches', cell: reach },
    {
      heading: 'Made by',
      cell: ({ madeBy }) => (madeBy === null ? '' : html`<code>${madeBy}</code>`),
    },
    {
      heading: 'Last used',
      cell: ({ lastUsedAt }) => (lastUsedAt === null ? 'never' : relativeTime(lastUsedAt, now)),
    },
    ...(offers(session, 'keys:write') ? [change] : []),
  ];
}

function signIns(asked: SignedInRequest, sessions: readonly SessionView[]): Html {
  const { link, now, session } = asked;
  const end: Column<SessionView> = {
    heading: 'Change',
    cell: ({ id, keyName }) =>
      id === session.id
        ? badge('ok', 'This session')
        : form(
            link(`/sessions/${id}/end`),
            session,
            html`<button class="btn sm" aria-label="End the session of ${keyName}">End</button>`,
            null,
            'keys:write',
          ),
  };
  const columns: readonly Column<SessionView>[] = [
    { heading: 'Key', cell: ({ keyName }) => keyName, names: true },
    { heading: 'Signed in', cell: ({ createdAt }) => relativeTime(createdAt, now) },
    { heading: 'Address', cell: ({ address }) => address },
    { heading: 'Browser', cell: ({ userAgent }) => userAgent, className: 'wide' },
    ...(offers(session, 'keys:write') ? [end] : []),
  ];
  return html`<div><h2>Sessions</h2>
<p class="quiet">Who is signed in here. A session ends after 12 hours, or with its key.</p></div>
${sessions.length === 0 ? empty('No sessions', 'None of these keys is signed in.') : table('Sessions', columns, sessions)}`;
}

function reach({ accountId, projectIds }: OwnKey): string {
  if (accountId === null) return 'everything';
  if (projectIds === null) return 'its account';
  return projectIds.length === 1 ? 'one project' : `${projectIds.length} projects`;
}

const kinds = [
  { value: 'domains:read', text: 'Read' },
  { value: 'domains:read,domains:write', text: 'Read, and change domains' },
  {
    value: 'domains:read,domains:write,projects:write',
    text: 'Read, and change domains and projects',
  },
  { value: accountScopes.join(','), text: 'Everything, keys too' },
] as const;

/** Keys of the installation need scopes that are chosen with care: signpost keys create. */
function maker({ form: typed, link, session }: SignedInRequest, error: ErrorBody | null): Html {
  if (offers(session, 'admin') && session.account === null) {
    return html`<p class="quiet">To create a key for a customer, <a href="${link('/accounts')}">choose its account</a> first. Keys of the installation are created with <code>signpost keys create</code>.</p>`;
  }
  const given = kinds.filter(({ value }) =>
    value.split(',').every((scope) => session.scopes.includes(scope) || offers(session, 'admin')),
  );
  if (given.length === 0) {
    return html`<p class="quiet">Your key cannot create keys here: it has none of their scopes.</p>`;
  }
  const fields = html`<div class="fields">${textField({ name: 'name', label: 'Name', value: typed.get('name') ?? '' })}
${choiceField({ name: 'scopes', label: 'Allows', value: typed.get('scopes') ?? given[0]?.value ?? '' }, given)}</div>
<button class="btn primary">Create key</button>`;
  const open = html`${error !== null ? html` open` : null}`;
  return html`<details class="card fold"${open}><summary>New key</summary><div>${form(link('/keys'), session, fields, 'form', 'keys:write')}</div></details>`;
}

const makeKey: PageHandler = async (asked) => {
  const { api, form: typed } = asked;
  const name = (typed.get('name') ?? '').trim();
  const scopes = (typed.get('scopes') ?? '').split(',');
  const answer = await api.call<NewKey>('POST', '/v1/keys', { name, scopes });
  // Not redirected: the token is only in this response.
  return listPage(asked, answer.ok ? { minted: answer.body } : { error: answer.error });
};

const revokeKey: PageHandler = async (asked): Promise<PageAnswer> => {
  const { api, params } = asked;
  const path = `/v1/keys/${encodeURIComponent(params['keyId'] ?? '')}`;
  const answer = await api.call('DELETE', path);
  return answer.ok
    ? { kind: 'see_other', path: '/keys' }
    : listPage(asked, { error: answer.error });
};

const endSession: PageHandler = async (asked): Promise<PageAnswer> => {
  const { api, params } = asked;
  const path = `/v1/sessions/${encodeURIComponent(params['sessionId'] ?? '')}`;
  const answer = await api.call('DELETE', path);
  return answer.ok
    ? { kind: 'see_other', path: '/keys' }
    : listPage(asked, { error: answer.error });
};
