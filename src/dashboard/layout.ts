/** What every page has: the frame, the way back, signing out. */

import type { Origin } from '../http/pipeline/audit.ts';
import type { RawResponse } from '../http/pipeline/render.ts';
import type { Headers } from '../http/pipeline/route.ts';
import { attribute, type Html, html, pageHead, pagePolicy } from '../net/html.ts';
import type { Assets } from './assets.ts';
import type { ApiClient } from './client.ts';
import { chosenAccount, mayChooseAccount, offers, type Session } from './session.ts';
import type { Visitor } from './session-acts.ts';

/**
 * The Content-Security-Policy of everything but the queues: nothing from elsewhere, nothing in line, forms to us
 * alone.
 */
export const PAGE_POLICY = pagePolicy({ forms: 'self' });

/** What every page is framed with, whatever it shows. */
export type Frame = {
  readonly assets: Assets;
  readonly link: Link;
  readonly now: Date;
  /** Null: nobody is signed in. */
  readonly session: Session | null;
};

/** The id of the last element: a page is shown once all of it is there, or what comes later would move what came before. */
const LAST = 'spoken';

/**
 * The whole document, its end included. A page with events is refreshed by the script as they happen, unless its
 * status says that it answers a form or a fault.
 */
export function layout({ assets, link, now, session }: Frame, shown: Shown): string {
  const { title, main, above = [], status = 200 } = shown;
  // What answers a form has the form's address, where it cannot be asked for again.
  const events = status === 200 ? shown.events : undefined;
  return html`${pageHead(`${title} · Signpost`)}
<link rel="stylesheet" href="${link(assets.style)}">
<link rel="expect" href="#${LAST}" blocking="render">
${assets.modules.map((path) => html`<link rel="modulepreload" href="${link(path)}">`)}
<script type="module" src="${link(assets.script)}"></script>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header class="top">
<p class="brand"><a href="${link('/')}">Signpost</a></p>
${session === null ? null : html`${whose(link, session)}${navigation(link, session)}`}
</header>
${session === null ? null : acting(link, session)}
<main id="main" tabindex="-1" data-now="${now.toISOString()}"${live(link, events)}>
<div class="above">${above.length === 0 ? null : crumbs(link, above)}${events === undefined ? null : liveness}</div>
${main}
</main>
<p id="${LAST}" class="unseen" role="status"></p>
</body>
</html>
`.html;
}

/** Where the script listens, and to what. */
function live(link: Link, events: Shown['events']): Html | null {
  if (events === undefined) return null;
  return html`${attribute('data-events', link(events.path))}${attribute('data-types', events.types.join(' '))}`;
}

/** Whether the page moves by itself; the script says. */
const liveness = html`<p class="liveness" id="liveness" data-state="opening"><span aria-hidden="true" class="dot"></span> <span class="words">Watching</span></p>`;

/** Whose things are shown; null where that is said by nothing: all of them, to who may not choose. */
function whose(link: Link, session: Session): Html | null {
  const { account } = session;
  if (mayChooseAccount(session)) {
    return html`<p class="whose"><a href="${link('/accounts')}"><span class="unseen">Choose an account, now: </span>${account?.name ?? 'All accounts'}</a></p>`;
  }
  return account === null ? null : html`<p class="whose">${account.name}</p>`;
}

/** Says above every page that it is about one account, to who could see all of them. */
function acting(link: Link, session: Session): Html | null {
  const account = chosenAccount(session);
  if (account === undefined) return null;
  return html`<aside class="acting" aria-label="Account"><p>You act for <strong>${account.name}</strong>.</p>
${chooser(link, session, { accountId: null, path: '/projects' }, html`<button class="plain">Show all accounts</button>`)}</aside>`;
}

/** The form that chooses an account; null: all of them. It leads to `path`, one of ours. */
export function chooser(
  link: Link,
  session: Session,
  { accountId, path }: { readonly accountId: string | null; readonly path: string },
  button: Html,
): Html {
  const fields = html`<input type="hidden" name="account" value="${accountId ?? ''}"><input type="hidden" name="then" value="${path}">${button}`;
  return form(link('/accounts/choose'), session, fields);
}

function navigation(link: Link, session: Session): Html {
  return html`<nav class="main" aria-label="Signpost">
${offers(session, 'domains:read') ? html`<a href="${link('/projects')}">Projects</a>` : null}
${offers(session, 'ops:read') ? html`<a href="${link('/ops')}">Operations</a>` : null}
<a href="${link('/sessions')}">Sessions</a>
<a href="${link('/docs')}">API</a>
${form(link('/sign-out'), session, html`<button class="plain">Sign out</button>`)}
</nav>`;
}

function crumbs(link: Link, above: NonNullable<Shown['above']>): Html {
  return html`<nav class="crumbs" aria-label="Where this page is"><ol>
${above.map(({ text, path }) => html`<li><a href="${link(path)}">${text}</a></li>`)}
</ol></nav>`;
}

/**
 * A form that changes something, with the session's token, without which it is refused. `action`: a path as the
 * browser reaches it, from `link`.
 */
export function form(action: string, { csrf }: Session, fields: Html): Html {
  return html`<form method="post" action="${action}"><input type="hidden" name="csrf" value="${csrf}">${fields}</form>`;
}

/** Turns a path of ours into one as the browser reaches it, below the base path. */
export type Link = (path: string) => string;

/** What a page is made from. */
export type PageRequest = {
  /** The parts of the path by their names in the page's pattern, percent-decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** What a form of ours sent; empty for GET. */
  readonly form: URLSearchParams;
  readonly headers: Headers;
  readonly link: Link;
  /** When the page was asked for; all times on it are relative to this. */
  readonly now: Date;
  /** The API for who brings this key, for all that it reaches. */
  readonly apiWith: (apiKey: string) => ApiClient;
  /** Who asks, as sessions show it. */
  readonly visitor: Visitor;
  /** The same as the audit log has it. */
  readonly from: Origin;
};

/**
 * The request of who is signed in. `api`: the API for the key of the session, which may have ended meanwhile, as it acts for
 * the account that was chosen.
 */
export type SignedInRequest = PageRequest & {
  readonly session: Session;
  readonly api: ApiClient;
};

/** A page to be framed. */
export type Shown = {
  readonly kind: 'page';
  /** The HTTP status; 200 where nothing is said. */
  readonly status?: number;
  /** For the window; `· Signpost` is added to it. */
  readonly title: string;
  readonly main: Html;
  /** The stream of events after which the page is asked for again: a path of ours, and the types that count. */
  readonly events?: { readonly path: string; readonly types: readonly string[] };
  /** The pages above this one, the outermost first; the page itself is not among them. */
  readonly above?: readonly { readonly text: string; readonly path: string }[];
};

/** What a page may answer with. Paths are ours, without the base path. */
export type PageAnswer =
  | Shown
  /** Answered 303 (RFC 9110, 15.4.4): the browser asks for another page. `cookie`: a Set-Cookie value. */
  | { readonly kind: 'see_other'; readonly path: string; readonly cookie?: string }
  /** The API's own answer, passed on. */
  | { readonly kind: 'raw'; readonly response: RawResponse };

/**
 * Answers who is signed in. A page with status 401, or an API's answer with it, ends the session. A page that rejects
 * is logged, and answered with one that says so.
 */
export type Page = (request: SignedInRequest) => Promise<PageAnswer>;

/**
 * What a page needs to be of any use: a scope, or `operators`, a key of the installation that shows all accounts. Who has
 * less is shown why. The API decides all the same.
 */
export type Needed = {
  readonly scope?: 'domains:write' | 'ops:read' | 'admin';
  readonly operators?: true;
};

/**
 * Where a page is, and who may ask for it. `path`: a pattern with `:name` for its parts. GET serves HEAD, too; POST
 * is called with a form that was found to come from here, and in no other case.
 */
export type PageRoute =
  | {
      readonly method: 'GET' | 'POST';
      readonly path: string;
      readonly isOpen?: false;
      readonly needs?: Needed;
      readonly handle: Page;
    }
  /** For who is not signed in, too. */
  | {
      readonly method: 'GET' | 'POST';
      readonly path: string;
      readonly isOpen: true;
      /** Its form is sent by who is not signed in, or was not yet when it was shown. */
      readonly hasNoToken?: true;
      readonly handle: (
        request: PageRequest & { readonly session: Session | null },
      ) => Promise<PageAnswer>;
    };
