import type { Scope } from '../core/operations/scopes.ts';
import type { RawResponse } from '../http/pipeline/render.ts';
import type { Headers } from '../http/pipeline/route.ts';
import { attribute, type Html, html, pageHead, pagePolicy } from '../net/html.ts';
import type { Assets } from './assets.ts';
import type { ApiClient } from './client.ts';
import { iconSheet, mark } from './parts/icons.ts';
import { type DashboardSession, offers } from './session.ts';

/** All pages except the queues: no external or inline content, forms only to this site. */
export const PAGE_POLICY = pagePolicy({ forms: 'self' });

export type PageFrame = {
  readonly assets: Assets;
  readonly link: Link;
  readonly now: Date;
  /** Null: not signed in. */
  readonly session: DashboardSession | null;
};

/** The ID of the last element: rendering waits for it to avoid layout shifts. */
const LAST = 'spoken';

/** A page with events is refreshed live, unless its status shows a form error. */
export function layout({ assets, link, now, session }: PageFrame, shown: PageContent): string {
  const { title, main, above = [], status = 200, section } = shown;
  // A form response has the form's URL, which cannot be fetched again.
  const events = status === 200 ? shown.events : undefined;
  return html`${pageHead(`${title} · Signpost`)}
<link rel="stylesheet" href="${link(assets.style)}">
<link rel="expect" href="#${LAST}" blocking="render">
${assets.modules.map((path) => html`<link rel="modulepreload" href="${link(path)}">`)}
<script type="module" src="${link(assets.script)}"></script>
</head>
<body>
${iconSheet}
<a class="skip" href="#main">Skip to content</a>
${session === null ? null : topbar(link, session, section)}
<main class="page" id="main" tabindex="-1" data-now="${now.toISOString()}"${live(link, events)}>
${above.length === 0 && events === undefined ? null : html`<div class="above">${above.length === 0 ? null : crumbs(link, above)}${events === undefined ? null : liveness}</div>`}
${main}
</main>
<p id="${LAST}" class="unseen" role="status"></p>
</body>
</html>
`.html;
}

function live(link: Link, events: PageContent['events']): Html | null {
  if (events === undefined) return null;
  return html`${attribute('data-events', link(events.path))}${attribute('data-types', events.types.join(' '))}`;
}

/** The script shows here whether the page updates live. */
const liveness = html`<p class="watching" id="liveness" data-state="opening"><span class="words">Up to date</span></p>`;

function topbar(link: Link, session: DashboardSession, section: PageContent['section']): Html {
  const tab = (path: string, name: string, isHere: boolean) =>
    html`<a href="${link(path)}"${attribute('aria-current', isHere ? 'page' : null)}>${name}</a>`;
  return html`<header class="topbar"><div>
<a class="brand" href="${link('/')}" aria-label="Signpost">${mark}<span>Signpost</span></a>
<nav class="nav" aria-label="Main">
${offers(session, 'domains:read') ? tab('/projects', 'Projects', section === undefined) : null}
${offers(session, 'keys:read') ? tab('/keys', 'Keys', section === 'keys') : null}
${offers(session, 'ops:read') ? tab('/ops', 'Operations', section === 'operations') : null}
<a href="${link('/docs')}">API</a>
</nav>
${session.reach === 'installation' && offers(session, 'domains:read') ? html`<a class="account" href="${link('/accounts')}"${attribute('aria-current', section === 'accounts' ? 'page' : null)}>${session.account?.name ?? 'All accounts'}</a>` : null}
${form(link('/sign-out'), session, html`<button class="btn plain sm">Sign out</button>`, null, null)}
</div></header>`;
}

function crumbs(link: Link, above: NonNullable<PageContent['above']>): Html {
  return html`<nav class="crumbs" aria-label="Breadcrumb"><ol>
${above.map(({ text, path }) => html`<li><a href="${link(path)}">${text}</a></li>`)}
</ol></nav>`;
}

/**
 * Contains the session's CSRF token. `action`: a browser path, from `link`. Without the scope that it
 * needs (null: none), a sentence replaces it.
 */
export function form(
  action: string,
  session: DashboardSession,
  fields: Html,
  className: string | null = null,
  scope: Scope | null = 'domains:write',
): Html {
  if (scope !== null && !offers(session, scope)) {
    return html`<p class="quiet small">To change this, use a key with the scope ${scope}.</p>`;
  }
  const { csrf } = session;
  return html`<form method="post" action="${action}"${attribute('class', className)}><input type="hidden" name="csrf" value="${csrf}">${fields}</form>`;
}

/** Prefixes a path with the base path. */
export type Link = (path: string) => string;

export type PageRequest = {
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  readonly form: URLSearchParams;
  readonly headers: Headers;
  /** The client's. */
  readonly address: string;
  readonly link: Link;
  /** Time of the request; relative times on the page refer to it. */
  readonly now: Date;
  readonly apiWith: (authorization: string, accountId?: string) => ApiClient;
};

/** The key of `api` can be invalid by now. */
export type SignedInRequest = PageRequest & {
  readonly session: DashboardSession;
  readonly api: ApiClient;
};

export type PageContent = {
  readonly kind: 'page';
  readonly status?: number;
  /** Beside those of every page. */
  readonly headers?: Readonly<Record<string, string>>;
  /** `· Signpost` is appended. */
  readonly title: string;
  readonly main: Html;
  /** The event stream and its types that refresh the page. */
  readonly events?: { readonly path: string; readonly types: readonly string[] };
  /** The tab in the top bar; by default the projects. */
  readonly section?: 'operations' | 'keys' | 'accounts';
  /** Parent pages, outermost first, without the page itself. */
  readonly above?: readonly { readonly text: string; readonly path: string }[];
};

/** Paths are without the base path. */
export type PageAnswer =
  | PageContent
  /** RFC 9110, 15.4.4. `cookie`: a Set-Cookie value. */
  | { readonly kind: 'see_other'; readonly path: string; readonly cookie?: string }
  | { readonly kind: 'raw'; readonly response: RawResponse };

/** Status 401 ends the session. An exception is logged and answered with an error page. */
export type PageHandler = (request: SignedInRequest) => Promise<PageAnswer>;

/** `path`: a pattern with `:name`. GET also serves HEAD; POST requires a verified form. */
export type PageRoute =
  | {
      readonly method: 'GET' | 'POST';
      readonly path: string;
      readonly isOpen?: false;
      readonly handle: PageHandler;
    }
  /** Also without a session. */
  | {
      readonly method: 'GET' | 'POST';
      readonly path: string;
      readonly isOpen: true;
      /** Its form can be sent without a session. */
      readonly hasNoToken?: true;
      readonly handle: (
        request: PageRequest & { readonly session: DashboardSession | null },
      ) => Promise<PageAnswer>;
    };
