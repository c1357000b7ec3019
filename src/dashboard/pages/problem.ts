import type { ErrorBody } from '../../http/pipeline/errors.ts';
import { type Html, html } from '../../net/html.ts';
import type { Link, PageContent } from '../layout.ts';
import { type DashboardSession, offers } from '../session.ts';

const problems = {
  not_from_here: [
    403,
    'This form came from another site, or is too old',
    'Nothing was changed. Reload the page and submit the form again.',
  ],
  too_large: [
    413,
    'This form is too large',
    'Nothing was changed. Forms can be up to 64 KiB; go back and send less.',
  ],
  not_found: [404, 'Page not found', 'It may have been removed, or the URL is mistyped.'],
  fault: [
    500,
    'An internal error occurred',
    'Nothing you saved is lost. Reload the page in a moment.',
  ],
} as const;

/** `session` null: not signed in. */
export type Visitor = { readonly link: Link; readonly session: DashboardSession | null };

export function problemPage(problem: keyof typeof problems, visitor: Visitor): PageContent {
  const [status, title, words] = problems[problem];
  return { kind: 'page', status, title, main: main(title, words, wayOut(visitor)) };
}

export function refusedPage({ code, message, status }: ErrorBody, visitor: Visitor): PageContent {
  const title = titles[status] ?? 'The request failed';
  const { link, session } = visitor;
  const isOfChosen = session !== null && session.account !== null && code === 'account_closed';
  const way = isOfChosen ? button(link('/accounts'), 'Choose an account') : wayOut(visitor);
  return { kind: 'page', status, title, main: main(title, message, way) };
}

const titles: Readonly<Record<number, string>> = {
  403: 'This key doesn’t have permission',
  404: 'Not found',
  429: 'Too many requests',
  500: 'An internal error occurred',
  503: 'Temporarily unavailable',
};

/** A link to a page that the key can view. */
export function wayOut({ link, session }: Visitor): Html {
  const [path, words] = exitOf(session);
  return button(link(path), words);
}

function button(href: string, words: string): Html {
  return html`<a class="btn" href="${href}">${words}</a>`;
}

function exitOf(session: DashboardSession | null): readonly [path: string, words: string] {
  if (session === null || offers(session, 'domains:read')) return ['/projects', 'Go to projects'];
  if (offers(session, 'ops:read')) return ['/ops', 'Go to operations'];
  return ['/docs', 'Open the API reference'];
}

function main(title: string, words: string, way: Html): Html {
  return html`<section class="card empty"><h1>${title}</h1><p>${words}</p>${way}</section>`;
}
