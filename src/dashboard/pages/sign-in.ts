import { parseKey } from '../../config/api-key.ts';
import { CONFIGURED_KEY_ID } from '../../http/keys/first-key.ts';
import type { SignInLimiters } from '../../http/limits/rate-limit.ts';
import { addressGroup } from '../../net/client-address.ts';
import { html } from '../../net/html.ts';
import type { OwnKey } from '../client.ts';
import type { Link, PageAnswer, PageContent, PageRequest, PageRoute } from '../layout.ts';
import { notice } from '../parts/elements.ts';
import { fieldError } from '../parts/fields.ts';
import { mark } from '../parts/icons.ts';
import { type DashboardSession, firstPage, type Sessions } from '../session.ts';

type OpenRequest = PageRequest & { readonly session: DashboardSession | null };

export function signInPages(sessions: Sessions, signIns: SignInLimiters): readonly PageRoute[] {
  return [
    {
      method: 'GET',
      path: '/',
      isOpen: true,
      handle: async ({ link, query, session }) =>
        session === null
          ? signInPage(link, query.get('then'), null, reasons[query.get('why') ?? ''])
          : { kind: 'see_other', path: ownPath(query.get('then')) ?? firstPage(session) },
    },
    {
      method: 'POST',
      path: '/sign-in',
      isOpen: true,
      hasNoToken: true,
      handle: (asked) => limited(signIns, asked, () => signIn(sessions, asked)),
    },
    {
      method: 'POST',
      path: '/sign-out',
      isOpen: true,
      handle: ({ session }) => signOut(sessions, session),
    },
  ];
}

/**
 * Counts a wrong key for its ID and the address. The first of each address does not count for the
 * ID, so that others cannot lock its user out.
 */
async function limited(
  { perAddress, perKey, perKeyAndAddress }: SignInLimiters,
  { address, form, link }: OpenRequest,
  attempt: () => Promise<PageAnswer>,
): Promise<PageAnswer> {
  const group = addressGroup(address);
  const id = keyIdIn((form.get('key') ?? '').trim());
  const pair = `${id} ${group}`;
  const ofAddress = perAddress.take(group);
  if (!ofAddress.allowed) return tooMany(link, form.get('then'), ofAddress.resetSeconds);
  const isFirst = perKeyAndAddress.take(pair).allowed;
  const ofKey = isFirst ? null : perKey.take(id);
  if (ofKey?.allowed === false) return tooMany(link, form.get('then'), ofKey.resetSeconds);
  const answer = await attempt();
  if (answer.kind !== 'see_other') return answer;
  perAddress.giveBack(group);
  if (isFirst) perKeyAndAddress.giveBack(pair);
  else perKey.giveBack(id);
  return answer;
}

/** Only API_KEY can have another format. */
function keyIdIn(key: string): string {
  const shape = parseKey(key);
  return shape.kind === 'ours' ? shape.id : CONFIGURED_KEY_ID;
}

function tooMany(link: Link, then: string | null, seconds: number): PageContent {
  const page = signInPage(link, then, `Too many wrong keys. Try again in ${seconds} seconds.`);
  return { ...page, status: 429, headers: { 'retry-after': String(seconds) } };
}

/** Starts a session for a valid key; otherwise shows the error on the page. */
async function signIn(
  sessions: Sessions,
  { address, apiWith, form, headers, link, session }: OpenRequest,
) {
  const key = (form.get('key') ?? '').trim();
  const then = form.get('then');
  if (key === '') return signInPage(link, then, 'Enter an API key.');
  const answer = await apiWith(`Bearer ${key}`).call<OwnKey>('GET', '/v1/keys/self');
  if (!answer.ok) return signInPage(link, then, answer.error.message);
  // The scopes are stored in the cookie, so that pages know what to offer without a request.
  const { id: keyId, scopes, accountId, projectIds } = answer.body;
  const reach = accountId === null ? 'installation' : projectIds === null ? 'account' : 'projects';
  const userAgent = headers['user-agent'] ?? '';
  if (session !== null) await sessions.end(session);
  const cookie = await sessions.begin({ keyId, scopes, reach, address, userAgent });
  // The next page checks that the browser kept the cookie; over plain HTTP it does not.
  const own = ownPath(then);
  const on = own === null ? '' : `&then=${encodeURIComponent(own)}`;
  return { kind: 'see_other', path: `/?why=cookie${on}`, cookie } as const;
}

async function signOut(sessions: Sessions, session: DashboardSession | null) {
  if (session !== null) await sessions.end(session);
  return { kind: 'see_other', path: '/', cookie: sessions.ended } as const;
}

/** A local path that is valid in a header, else null. `//` and `/\` would lead to another host. */
function ownPath(then: string | null): string | null {
  return then !== null && /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(then) ? then : null;
}

const reasons: Readonly<Record<string, string>> = {
  ended: 'Your session has ended, or its key has expired or was revoked.',
  cookie: 'Your browser didn’t keep the session. The dashboard requires HTTPS or localhost.',
};

function signInPage(
  link: Link,
  then: string | null,
  problem: string | null,
  reason: string | undefined = undefined,
): PageContent {
  const invalid = html` aria-invalid="true" aria-describedby="key-problem key-hint"`;
  const described = problem === null ? html` aria-describedby="key-hint"` : invalid;
  return {
    kind: 'page',
    status: problem === null ? 200 : 401,
    title: 'Sign in',
    main: html`<div class="door"><p class="brand">${mark}Signpost</p>
<h1>Sign in</h1>
${reason === undefined ? null : notice(reason, 'idle')}
<form method="post" action="${link('/sign-in')}">
<input type="text" name="username" autocomplete="username" value="API key" hidden>
<div class="field">
<label class="label" for="key">API key</label>
<input class="input" id="key" name="key" type="password" autocomplete="current-password" required autofocus spellcheck="false"${described}>
${problem === null ? null : fieldError(problem, 'key-problem')}
<p class="hint" id="key-hint">A key that you were given. The first one is printed when Signpost starts for the first time; its operator can also set <code class="nowrap">API_KEY</code>.</p>
</div>
${then === null ? null : html`<input type="hidden" name="then" value="${then}">`}
<button class="btn primary">Sign in</button>
</form></div>`,
  };
}
