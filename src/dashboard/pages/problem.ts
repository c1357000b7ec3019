/** What is shown where something did not go as asked. */

import type { ErrorBody } from '../../http/pipeline/errors.ts';
import { type Html, html } from '../../net/html.ts';
import type { Link, Shown } from '../layout.ts';
import { offers, type Session } from '../session.ts';

/**
 * Each problem's status, its title and what is said of it. The API has no refusal for them: they are the dashboard's
 * own.
 */
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
  unavailable: [
    503,
    'Temporarily unavailable',
    'The database cannot be reached. Nothing that was saved is lost; try again shortly.',
  ],
  fault: [
    500,
    'Something went wrong on our side',
    'Nothing you saved is lost. Reload the page in a moment.',
  ],
} as const;

/** Who is shown a problem. `session` null: nobody is signed in. */
export type Visitor = { readonly link: Link; readonly session: Session | null };

/** A problem as a whole page, with its status. */
export function problemPage(problem: keyof typeof problems, visitor: Visitor): Shown {
  const [status, title, words] = problems[problem];
  return { kind: 'page', status, title, main: main(title, words, visitor) };
}

/** An API's refusal as a whole page, with its status and its message. */
export function refusedPage({ message, status }: ErrorBody, visitor: Visitor): Shown {
  const title = titles[status] ?? 'That did not work';
  return { kind: 'page', status, title, main: main(title, message, visitor) };
}

const titles: Readonly<Record<number, string>> = {
  403: 'This key doesn’t have permission',
  404: 'Not found',
  429: 'Too many requests',
  500: 'Something went wrong on our side',
  503: 'Temporarily unavailable',
};

/** A link to a page that the visitor's key may see. */
export function wayOut({ link, session }: Visitor): Html {
  const [path, words] = exitOf(session);
  return html`<p><a href="${link(path)}">${words}</a></p>`;
}

function exitOf(session: Session | null): readonly [path: string, words: string] {
  if (session === null || offers(session, 'domains:read'))
    return ['/projects', 'Go to the projects'];
  if (offers(session, 'ops:read')) return ['/ops', 'Go to the operations'];
  return ['/docs', 'Read about the API'];
}

function main(title: string, words: string, visitor: Visitor): Html {
  return html`<div class="empty"><h1>${title}</h1><p>${words}</p>${wayOut(visitor)}</div>`;
}
