/** Why a page is not for who is signed in, and the way to one that is. */
import { forbidden } from '../../http/keys/auth.ts';
import { html } from '../../net/html.ts';
import { chooser, type Link, type Needed, type Shown } from '../layout.ts';
import { chosenAccount, offers, type Session } from '../session.ts';
import { refusedPage, type Visitor, wayOut } from './problem.ts';

type SignedIn = { readonly link: Link; readonly session: Session };

/** The page in place of one that the session has no use of; null where it may be shown. `path`: where it is. */
export function barredPage(
  { scope, operators }: Needed,
  visitor: SignedIn,
  path: string,
): Shown | null {
  const { session } = visitor;
  if (operators === true) {
    if (chosenAccount(session) !== undefined) return onAllAccounts(visitor, path);
    if (!session.isInstallation) return needsOperator(visitor);
  }
  if (scope === undefined || offers(session, scope)) return null;
  return scope === 'ops:read' || operators === true
    ? needsOperator(visitor)
    : refusedPage(forbidden(scope).body, visitor);
}

/** For who has chosen an account: the page is about all of them. Status 403. */
function onAllAccounts({ link, session }: SignedIn, path: string): Shown {
  const button = html`<button>Show all accounts</button>`;
  return {
    kind: 'page',
    status: 403,
    title: 'About all accounts',
    main: html`<div class="empty"><h1>This page is about all accounts</h1>
<p>You act for ${session.account?.name ?? 'one account'}.</p>
${chooser(link, session, { accountId: null, path }, button)}</div>`,
  };
}

/** Every page while the chosen account is closed: the API refuses what is asked for it. Status 404. */
export function closedPage({ link, session }: SignedIn): Shown {
  const button = html`<button>Show all accounts</button>`;
  return {
    kind: 'page',
    status: 404,
    title: 'This account is closed',
    main: html`<div class="empty"><h1>${session.account?.name ?? 'This account'} is closed</h1>
<p>Nobody acts for a closed account. What is left of it is among all accounts.</p>
${chooser(link, session, { accountId: null, path: '/projects' }, button)}</div>`,
  };
}

/** The page for who lacks the scope `ops:read`, or signed in with a key of an account, with status 403. */
export function needsOperator(visitor: Visitor): Shown {
  const isOfAccount = visitor.session?.isInstallation === false;
  const words = isOfAccount
    ? html`<p>This page is about all accounts. The key that you are signed in with is one account’s.</p>`
    : html`<p>This page shows every project. The key that you are signed in with may not see that: it needs the scope <code>ops:read</code>, and <code>admin</code> to change something.</p>
<p>Who holds an admin key makes one: <code>signpost keys create --name operator --scope ops:read</code></p>`;
  return {
    kind: 'page',
    status: 403,
    title: 'For operators',
    main: html`<div class="empty"><h1>For operators</h1>
${words}
${wayOut(visitor)}</div>`,
  };
}
