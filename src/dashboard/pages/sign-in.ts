/** Signing in with an API key, and out. */
import { html } from '../../net/html.ts';
import type { OwnKey } from '../client.ts';
import { endedCookie, sessionCookie } from '../cookies.ts';
import type { Link, PageRequest, PageRoute, Shown } from '../layout.ts';
import { notice } from '../parts/elements.ts';
import { firstPage, type Session } from '../session.ts';
import { SESSION_S, type SessionActs } from '../session-acts.ts';

/**
 * The sign-in, which sends on who is signed in already, and the forms that sign in and out. Signing in asks the API
 * whether the key works.
 */
export function signInPages(
  sessions: Pick<SessionActs, 'begin' | 'signOut'>,
): readonly PageRoute[] {
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
      handle: (asked) => signIn(sessions, asked),
    },
    {
      method: 'POST',
      path: '/sign-out',
      isOpen: true,
      handle: async ({ from, headers, session }) => {
        if (session !== null) await sessions.signOut(session, from);
        return { kind: 'see_other', path: '/', cookie: endedCookie(headers) };
      },
    },
  ];
}

/**
 * Begins a session for a key that works, in place of the browser's own, and says on the page itself why another key does not.
 */
async function signIn(
  { begin, signOut }: Pick<SessionActs, 'begin' | 'signOut'>,
  {
    apiWith,
    form,
    from,
    headers,
    link,
    session,
    visitor,
  }: PageRequest & { session: Session | null },
) {
  const key = (form.get('key') ?? '').trim();
  const then = form.get('then');
  if (key === '') return signInPage(link, then, 'Enter an API key.');
  const answer = await apiWith(key).call<OwnKey>('GET', '/v1/keys/self');
  if (!answer.ok) return signInPage(link, then, answer.error.message);
  const { id, accountId } = answer.body;
  const token = await begin({ id, accountId, token: key }, visitor, from);
  if (session !== null) await signOut(session, from);
  const cookie = sessionCookie(headers, token, SESSION_S);
  // By way of a page that sees whether the browser has kept it, which over plain HTTP it does not.
  const own = ownPath(then);
  const on = own === null ? '' : `&then=${encodeURIComponent(own)}`;
  return { kind: 'see_other', path: `/?why=cookie${on}`, cookie } as const;
}

/**
 * Where somebody wanted to go: a path of ours that a header can have, else null. `//` and `/\` would lead to another
 * host.
 */
export function ownPath(then: string | null): string | null {
  return then !== null && /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(then) ? then : null;
}

/** Why somebody is here again. */
const reasons: Readonly<Record<string, string>> = {
  ended: 'The key you signed in with has expired or was revoked.',
  cookie: 'Your browser didn’t keep the session: the dashboard needs HTTPS, or localhost.',
};

function signInPage(
  link: Link,
  then: string | null,
  problem: string | null,
  reason: string | undefined = undefined,
): Shown {
  const invalid = html` aria-invalid="true" aria-describedby="key-problem key-hint"`;
  const described = problem === null ? html` aria-describedby="key-hint"` : invalid;
  return {
    kind: 'page',
    status: problem === null ? 200 : 401,
    title: 'Sign in',
    main: html`<section class="panel narrow" aria-labelledby="sign-in"><h1 id="sign-in">Sign in</h1>
${reason === undefined ? null : notice(reason)}
<form method="post" action="${link('/sign-in')}">
<input type="text" name="username" autocomplete="username" value="API key" hidden>
<div class="field">
<label for="key">API key</label>
<input id="key" name="key" type="password" autocomplete="current-password" required autofocus spellcheck="false"${described}>
${problem === null ? null : html`<p class="refusal" role="alert" id="key-problem">${problem}</p>`}
<p class="hint" id="key-hint">The first one was printed when the service started. Others are made with <code>signpost keys create</code>.</p>
</div>
${then === null ? null : html`<input type="hidden" name="then" value="${then}">`}
<button>Sign in</button>
</form></section>`,
  };
}
