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

/** `apiKey`: API_KEY. */
export function signInPages(
  sessions: Sessions,
  signIns: SignInLimiters,
  apiKey: string | undefined,
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
      handle: (asked) => {
        const id = keyIdIn(typedKey(asked), apiKey);
        return limited(signIns, id, asked, () => signIn(sessions, asked));
      },
    },
    {
      method: 'POST',
      path: '/sign-out',
      isOpen: true,
      handle: (asked) => signOut(sessions, asked),
    },
  ];
}

/**
 * Counts a wrong key (401) for its ID and the address. The first of each address does not count for
 * the ID, so that others cannot lock its user out.
 */
async function limited(
  { perAddress, perKey, perKeyAndAddress }: SignInLimiters,
  id: string | null,
  { address, form, link }: OpenRequest,
  attempt: () => Promise<PageAnswer>,
): Promise<PageAnswer> {
  const group = addressGroup(address);
  const pair = `${id} ${group}`;
  const ofAddress = perAddress.take(group);
  if (!ofAddress.allowed) return tooMany(link, form.get('then'), ofAddress.resetSeconds);
  const isFirst = id !== null && perKeyAndAddress.take(pair).allowed;
  const ofKey = id === null || isFirst ? null : perKey.take(id);
  if (ofKey?.allowed === false) return tooMany(link, form.get('then'), ofKey.resetSeconds);
  let isWrong = false;
  try {
    const answer = await attempt();
    isWrong = answer.kind === 'page' && answer.status === 401;
    return answer;
  } finally {
    if (!isWrong) {
      perAddress.giveBack(group);
      if (isFirst) perKeyAndAddress.giveBack(pair);
      else if (id !== null) perKey.giveBack(id);
    }
  }
}

/** Null if the text is not a key, because it has another format than generated keys and `apiKey`. */
function keyIdIn(key: string, apiKey: string | undefined): string | null {
  const typed = parseKey(key);
  if (typed.kind === 'ours') return typed.id;
  const canBeApiKey = apiKey !== undefined && parseKey(apiKey).kind === typed.kind;
  return canBeApiKey ? CONFIGURED_KEY_ID : null;
}

function typedKey({ form }: OpenRequest): string {
  return (form.get('key') ?? '').trim();
}

function tooMany(link: Link, then: string | null, seconds: number): PageContent {
  const page = signInPage(link, then, `Too many wrong keys. Try again in ${seconds} seconds.`);
  return { ...page, status: 429, headers: { 'retry-after': String(seconds) } };
}

/** Starts a session for a valid key; otherwise shows the error on the page. */
async function signIn(sessions: Sessions, asked: OpenRequest) {
  const { address, apiWith, form, headers, link, session } = asked;
  const key = typedKey(asked);
  const then = form.get('then');
  if (key === '') return { ...signInPage(link, then, 'Enter an API key.'), status: 400 };
  const answer = await apiWith(`Bearer ${key}`).call<OwnKey>('GET', '/v1/keys/self');
  if (!answer.ok) {
    return { ...signInPage(link, then, answer.error.message), status: answer.status };
  }
  // The scopes are stored in the cookie, so that pages know what to offer without a request.
  const { id: keyId, scopes, accountId, projectIds } = answer.body;
  const reach = accountId === null ? 'installation' : projectIds === null ? 'account' : 'projects';
  const userAgent = headers['user-agent'] ?? '';
  if (session !== null) await sessions.end(session, address);
  const cookie = await sessions.begin({ keyId, scopes, reach, address, userAgent });
  // The next page checks that the browser kept the cookie; over plain HTTP it does not.
  const own = ownPath(then);
  const on = own === null ? '' : `&then=${encodeURIComponent(own)}`;
  return { kind: 'see_other', path: `/?why=cookie${on}`, cookie } as const;
}

async function signOut(sessions: Sessions, { address, session }: OpenRequest) {
  if (session !== null) await sessions.end(session, address);
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
