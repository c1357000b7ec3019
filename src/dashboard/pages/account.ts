/** One account, for administrators of the installation: what it may have, and a key for it. */
import { randomBytes } from 'node:crypto';
import { limitNames } from '../../core/accounts/limits.ts';
import type { ErrorBody } from '../../http/pipeline/errors.ts';
import type { Scope } from '../../http/pipeline/route.ts';
import { limitWords } from '../../http/schemas/accounts.ts';
import { type Html, html } from '../../net/html.ts';
import type { Account, MintedKey } from '../client.ts';
import { chooser, form, type Page, type Shown, type SignedInRequest } from '../layout.ts';
import {
  badge,
  bothTimes,
  type Choice,
  choiceField,
  copyable,
  fold,
  refusal,
  relativeTime,
  textField,
} from '../parts/elements.ts';
import { facts } from '../parts/table.ts';
import { refusedPage } from './problem.ts';

/** The page of an account, and the form that makes a key for it. */
export function accountKeyPages() {
  const path = '/accounts/:accountId';
  const show: Page = (asked) => accountPage(asked);
  return [
    { method: 'GET', path, handle: show },
    { method: 'POST', path: `${path}/keys`, handle: makeKey },
  ] as const;
}

/** What a key for a customer can be for; the API has more combinations. */
const roles: Readonly<Record<string, { text: string; scopes: readonly Scope[] }>> = {
  admin: { text: 'Everything of the account, its keys among it', scopes: ['admin'] },
  write: { text: 'Projects and domains', scopes: ['domains:read', 'domains:write'] },
  read: { text: 'Read only', scopes: ['domains:read'] },
};

const choices: readonly Choice[] = Object.entries(roles).map(([value, { text }]) => ({
  value,
  text,
}));

type Outcome = { readonly minted?: MintedKey; readonly error?: ErrorBody };

async function accountPage(asked: SignedInRequest, outcome: Outcome = {}): Promise<Shown> {
  const { api, now, params, session } = asked;
  const answer = await api.call<Account>('GET', pathOf(params['accountId']));
  if (!answer.ok) return refusedPage(answer.error, asked);
  const { closedAt, createdAt, id, limits, name } = answer.body;
  const typed = outcome.error === undefined ? new URLSearchParams() : asked.form;
  const isChosen = id === session.account?.id;
  return {
    kind: 'page',
    status: outcome.error?.status ?? 200,
    title: name,
    above: [{ text: 'Accounts', path: '/accounts' }],
    main: html`<div class="head"><h1>${name}</h1>${stateOf(answer.body, isChosen)}</div>
<p class="quiet under">Made ${relativeTime(createdAt, now)}</p>
<section class="panel" aria-label="The account">${facts([
      ['ID', copyable(id, 'the ID')],
      closedAt === null ? null : ['Closed', bothTimes(closedAt, now)],
    ])}
${closedAt !== null || isChosen ? null : actButton(asked, id)}</section>
${outcome.minted === undefined ? null : mintedSection(outcome.minted)}
${closedAt === null ? keySection({ ...asked, form: typed }, id, outcome.error ?? null) : null}
${fold('limits', 'What it may have', facts(limitFacts(limits)))}`,
  };
}

/** Whether it is open, and whether its things are what is shown. */
export function stateOf({ closedAt }: Account, isChosen: boolean): Html {
  if (closedAt !== null) return badge('quiet', 'Closed');
  return isChosen ? badge('busy', 'You act for it') : badge('good', 'Open');
}

function pathOf(accountId = ''): string {
  return `/v1/accounts/${encodeURIComponent(accountId)}`;
}

function actButton({ link, session }: SignedInRequest, accountId: string): Html {
  const button = html`<button class="secondary">Switch to it</button>`;
  return chooser(link, session, { accountId, path: '/projects' }, button);
}

/** `attempt`: a form that is sent twice makes one key. */
function keySection(
  { form: typed, link, session }: SignedInRequest,
  accountId: string,
  error: ErrorBody | null,
): Html {
  const attempt = randomBytes(16).toString('base64url');
  const fields = html`${refusal(error)}<input type="hidden" name="attempt" value="${attempt}">
${textField({ name: 'name', label: 'Name', value: typed.get('name') ?? '', hint: 'What the key is for: the customer sees it.' })}
${choiceField({ name: 'role', label: 'May', value: typed.get('role') ?? 'admin' }, choices)}
<button>Create key</button>`;
  return html`<section class="panel" aria-labelledby="new-key"><h2 id="new-key">New key</h2>${form(link(`/accounts/${accountId}/keys`), session, fields)}</section>`;
}

function mintedSection({ key, name }: MintedKey): Html {
  const words =
    key === null
      ? html`<p>This form was sent before: the key was made then, and shown once. Revoke it and make another one if nobody has it.</p>`
      : html`<p>Hand it to the customer now: it isn’t shown again.</p><p class="call">${copyable(key, 'the key')}</p>`;
  return html`<section class="panel" role="status" aria-labelledby="minted"><h2 id="minted">The new key: ${name}</h2>${words}</section>`;
}

function limitFacts(limits: Account['limits']) {
  return limitNames.map((name) => [limitWords[name], String(limits[name] ?? 'no limit')] as const);
}

const makeKey: Page = async (asked) => {
  const { api, form: typed, params } = asked;
  const name = (typed.get('name') ?? '').trim();
  const scopes = roles[typed.get('role') ?? '']?.scopes ?? [];
  const body = { name, scopes, accountId: params['accountId'] };
  const attempt = typed.get('attempt');
  const options = attempt === null ? {} : { idempotencyKey: attempt };
  const answer = await api.call<MintedKey>('POST', '/v1/keys', body, options);
  return accountPage(asked, answer.ok ? { minted: answer.body } : { error: answer.error });
};
