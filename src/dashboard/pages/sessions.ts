/** Who is signed in: one's own session, and those that one's key may end. */
import type { ErrorBody } from '../../http/pipeline/errors.ts';
import { type Html, html } from '../../net/html.ts';
import type { OpenSessions } from '../client.ts';
import { endedCookie } from '../cookies.ts';
import { form, type Page, type PageRoute, type Shown, type SignedInRequest } from '../layout.ts';
import { badge, refusal, relativeTime } from '../parts/elements.ts';
import { cursorPager, facts, table } from '../parts/table.ts';
import { offers } from '../session.ts';
import type { SessionActs } from '../session-acts.ts';
import { refusedPage } from './problem.ts';

/** The page of sessions, and the forms that end them. */
export function sessionPages(
  sessions: Pick<SessionActs, 'signOutEverywhere'>,
): readonly PageRoute[] {
  const needs = { scope: 'admin' } as const;
  return [
    { method: 'GET', path: '/sessions', handle: (asked) => sessionsPage(asked, null) },
    { method: 'POST', path: '/sessions/end-own', handle: (asked) => endOwn(sessions, asked) },
    { method: 'POST', path: '/sessions/end-others', needs, handle: endOthers },
    { method: 'POST', path: '/sessions/:sessionId/end', needs, handle: endOne },
  ];
}

type OpenSession = OpenSessions[number];

const PAGE_SIZE = 50; // our choice: all browsers of most accounts

/** All of those that the key manages; without `admin`, only what one's own is. */
async function sessionsPage(asked: SignedInRequest, error: ErrorBody | null): Promise<Shown> {
  const { session } = asked;
  const list = offers(session, 'admin') ? await listSection(asked) : null;
  if (list !== null && 'kind' in list) return list;
  return {
    kind: 'page',
    status: error?.status ?? 200,
    title: 'Sessions',
    main: html`<h1>Sessions</h1>
${refusal(error)}
${ownSection(asked)}
${list}`,
  };
}

function ownSection({ link, now, session }: SignedInRequest): Html {
  const { account, expiresAt, keyName } = session;
  const button = html`<button class="secondary">Sign out everywhere</button>`;
  return html`<section class="panel" aria-labelledby="own"><h2 id="own">You</h2>
${facts([
  ['Signed in with', keyName],
  ['Shows', account?.name ?? 'All accounts'],
  ['Ends', relativeTime(expiresAt.toISOString(), now, 'to-come')],
])}
<p>If somebody else may have your key, revoke it: that ends its sessions, too.</p>
${form(link('/sessions/end-own'), session, button)}
<p class="hint">Ends this session and every other one with the same key.</p></section>`;
}

async function listSection(asked: SignedInRequest): Promise<Html | Shown> {
  const { api, link, now, query, session } = asked;
  const cursor = query.get('cursor');
  const from = new URLSearchParams({ limit: `${PAGE_SIZE}`, ...(cursor !== null && { cursor }) });
  const { answer, next } = await api.page<OpenSession>(`/v1/sessions?${from}`);
  if (!answer.ok) return refusedPage(answer.error, asked);
  const at = { isFirst: cursor === null, next };
  const items = answer.body;
  const hasOthers = next !== null || cursor !== null || items.some(({ id }) => id !== session.id);
  const rows = table<OpenSession>(
    'Open sessions, the newest first',
    [
      {
        heading: 'Key',
        names: true,
        cell: ({ id, keyName }) => ownName(keyName, id === session.id),
      },
      { heading: 'Browser', cell: ({ userAgent }) => browserOf(userAgent) },
      { heading: 'Address', className: 'name', cell: ({ address }) => address },
      { heading: 'Last used', cell: ({ lastUsedAt }) => relativeTime(lastUsedAt, now) },
      { heading: 'End', cell: (one) => ender(asked, one) },
    ],
    items,
  );
  const button = html`<button class="danger">End all others</button>`;
  return html`<h2>Open sessions</h2>
<p class="quiet">A session that you end is refused everywhere within 5 seconds.</p>
${items.length === 0 ? html`<p>None.</p>` : rows}
${cursorPager(at, link('/sessions'))}
${hasOthers ? form(link('/sessions/end-others'), session, button) : null}`;
}

function ownName(keyName: string, isOwn: boolean): Html {
  return html`${keyName}${isOwn ? html` ${badge('good', 'This one')}` : null}`;
}

function ender({ link, session }: SignedInRequest, { id, keyName, userAgent }: OpenSession): Html {
  const what = `${keyName}, ${browserOf(userAgent)}`;
  const button = html`<button class="plain" aria-label="End the session of ${what}">End</button>`;
  return form(link(`/sessions/${id}/end`), session, button);
}

/** In this order: most browsers also call themselves what comes later. */
const browsers = [
  ['Edg', 'Edge'],
  ['OPR', 'Opera'],
  ['Firefox', 'Firefox'],
  ['FxiOS', 'Firefox'],
  ['CriOS', 'Chrome'],
  ['Chrome', 'Chrome'],
  ['Safari', 'Safari'],
] as const;
const systems = [
  ['Android', 'Android'],
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Windows', 'Windows'],
  ['CrOS', 'ChromeOS'],
  ['Mac OS X', 'macOS'],
  ['Linux', 'Linux'],
] as const;

/** What a browser says it is, in two words: `Firefox on Linux`. It is its own word, and proves nothing. */
export function browserOf(userAgent: string): string {
  const [, browser] = browsers.find(([sign]) => userAgent.includes(`${sign}/`)) ?? [];
  const [, system] = systems.find(([sign]) => userAgent.includes(sign)) ?? [];
  const named = browser ?? (userAgent === '' ? 'Unknown' : userAgent.slice(0, 40));
  return system === undefined ? named : `${named} on ${system}`;
}

async function endOwn(
  { signOutEverywhere }: Pick<SessionActs, 'signOutEverywhere'>,
  { from, headers, session }: SignedInRequest,
) {
  await signOutEverywhere(session, from);
  return { kind: 'see_other', path: '/', cookie: endedCookie(headers) } as const;
}

const endOne: Page = async (asked) => {
  const { api, headers, params, session } = asked;
  const id = params['sessionId'] ?? '';
  const answer = await api.call('DELETE', pathOf(id));
  if (!answer.ok) return sessionsPage(asked, answer.error);
  return id === session.id
    ? { kind: 'see_other', path: '/', cookie: endedCookie(headers) }
    : { kind: 'see_other', path: '/sessions' };
};

/** One after the other; where one is refused, those before it have ended. */
const endOthers: Page = async (asked) => {
  const { api, session } = asked;
  const answer = await api.all<OpenSession>('/v1/sessions');
  if (!answer.ok) return sessionsPage(asked, answer.error);
  for (const { id } of answer.body.filter((one) => one.id !== session.id)) {
    const ended = await api.call('DELETE', pathOf(id));
    if (!ended.ok && ended.status !== 404) return sessionsPage(asked, ended.error);
  }
  return { kind: 'see_other', path: '/sessions' };
};

function pathOf(sessionId: string): string {
  return `/v1/sessions/${encodeURIComponent(sessionId)}`;
}
