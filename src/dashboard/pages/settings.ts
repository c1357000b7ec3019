import { toUnicodeName } from '../../core/names/idna.ts';
import { redirectStatuses } from '../../core/names/redirects.ts';
import { type ErrorBody, refuse } from '../../http/pipeline/errors.ts';
import { type Html, html } from '../../net/html.ts';
import type { ApiAnswer, Domain, ProjectView, Settings } from '../client.ts';
import { apiPath, projectPath } from '../client.ts';
import {
  form,
  type PageContent,
  type PageHandler,
  type PageRoute,
  type SignedInRequest,
} from '../layout.ts';
import { empty, projectHead, refusal } from '../parts/elements.ts';
import { choiceField, type Field, type SelectOption, textField } from '../parts/fields.ts';
import { facts, table } from '../parts/table.ts';
import { offers } from '../session.ts';
import { refusedPage } from './problem.ts';

export function settingsPages(): readonly PageRoute[] {
  const path = '/projects/:projectId/settings';
  return [
    { method: 'GET', path, handle: (asked) => settingsPage(asked, null) },
    changing(`${path}/primary`, (typed) => withPrimary(typed.get('primary') || null)),
    changing(`${path}/redirects`, (typed) =>
      withRedirect({
        from: (typed.get('from') ?? '').trim(),
        to: (typed.get('to') ?? '').trim(),
        status: Number(typed.get('status')),
      }),
    ),
    changing(`${path}/redirects/end`, (typed) =>
      withoutRedirect(typed.get('from') ?? '', typed.get('to')),
    ),
  ];
}

/** If refused, the page shows the error and the input. */
function changing(path: string, change: (typed: URLSearchParams) => SettingsChange): PageRoute {
  const handle: PageHandler = async (asked) => {
    const answer = await changeSettings(asked, change(asked.form));
    return answer.ok
      ? { kind: 'see_other', path: `${projectPath(asked.params['projectId'] ?? '')}/settings` }
      : settingsPage(asked, answer.error);
  };
  return { method: 'POST', path, handle };
}

/** The first page of them. If others follow, the user types a name instead of selecting one. */
type Hostnames = { readonly names: readonly string[]; readonly areAll: boolean };

async function settingsPage(asked: SignedInRequest, error: ErrorBody | null): Promise<PageContent> {
  const { api, link, params, session } = asked;
  const path = projectPath(params['projectId'] ?? '');
  const [project, domains, settings] = await Promise.all([
    api.call<ProjectView>('GET', apiPath(path)),
    api.call<readonly Domain[]>('GET', apiPath(`${path}/domains`)),
    api.call<Settings>('GET', apiPath(`${path}/domain-settings`)),
  ]);
  if (!project.ok) return refusedPage(project.error, asked);
  if (!domains.ok) return refusedPage(domains.error, asked);
  if (!settings.ok) return refusedPage(settings.error, asked);
  const names = domains.body.map(({ hostname }) => hostname);
  const hostnames = { names, areAll: domains.next === undefined };
  return {
    kind: 'page',
    status: error?.status ?? 200,
    title: `${project.body.name}: redirects`,
    above: [{ text: 'Projects', path: '/projects' }],
    main: html`${projectHead(project.body, 'settings', link)}
${refusal(error)}
${names.length === 0 ? empty('No custom domains', 'Once the project has domains, one can be primary and others can redirect to it.', offers(session, 'domains:write') ? html`<a class="btn primary" href="${link(`${path}/domains`)}">Add a domain</a>` : null) : sections(asked, hostnames, settings.body)}`,
  };
}

function sections(asked: SignedInRequest, hostnames: Hostnames, settings: Settings): Html {
  return html`<div class="stack">${primarySection(asked, hostnames, settings)}
<div><h2>Redirects</h2>
<p class="quiet">A redirect keeps path and query. It works even before the domain’s own certificate is issued.</p></div>
${redirectsTable(asked, settings)}
${!offers(asked.session, 'domains:write') ? null : hostnames.names.length < 2 ? html`<p class="quiet">A redirect needs two domains: the one people still use, and the one to send them to.</p>` : newRedirect(asked, hostnames, settings)}</div>`;
}

function primarySection(
  { form: typed, link, params, session }: SignedInRequest,
  hostnames: Hostnames,
  { domains: { primary } }: Settings,
): Html {
  if (!offers(session, 'domains:write')) {
    const name = primary === null ? 'None' : toUnicodeName(primary);
    return facts([['Primary domain', name]]);
  }
  const path = link(`${projectPath(params['projectId'] ?? '')}/settings/primary`);
  const field = {
    name: 'primary',
    label: 'Primary domain',
    value: typed.get('primary') ?? primary ?? '',
    hint: 'The project’s main domain. Every request to the deploy names it.',
    isOptional: true,
  } as const;
  const fields = html`${hostnameField(field, hostnames, [{ value: '', text: 'None' }])}<button class="btn primary">Save</button>`;
  return html`<section class="card" aria-label="Primary domain"><div class="card-body">${form(path, session, fields, 'form')}</div></section>`;
}

function hostnameField(
  field: Field,
  { names, areAll }: Hostnames,
  more: readonly SelectOption[] = [],
) {
  if (!areAll) return textField({ ...field, inputmode: 'url' });
  const choices = names.map((value) => ({ value, text: toUnicodeName(value) }));
  return choiceField(field, [...more, ...choices]);
}

function redirectsTable(asked: SignedInRequest, { domains: { redirects } }: Settings): Html {
  if (redirects.length === 0) return empty('No redirects', 'Every domain shows the deploy.');
  return table(
    'Redirects',
    [
      { heading: 'From', cell: ({ from }) => toUnicodeName(from), names: true },
      { heading: 'To', className: 'name', cell: ({ to }) => toUnicodeName(to) },
      { heading: 'Status', cell: ({ status }) => String(status) },
      ...(offers(asked.session, 'domains:write')
        ? [{ heading: 'Change', cell: (one: SettingsRedirect) => ender(asked, one) }]
        : []),
    ],
    redirects,
  );
}

function ender(
  { link, params, session }: SignedInRequest,
  { from, to }: Settings['domains']['redirects'][number],
): Html {
  const path = link(`${projectPath(params['projectId'] ?? '')}/settings/redirects/end`);
  return form(
    path,
    session,
    html`<input type="hidden" name="from" value="${from}"><input type="hidden" name="to" value="${to}"><button class="btn sm" aria-label="Delete the redirect from ${toUnicodeName(from)}">Delete</button>`,
  );
}

/** Unknown statuses are shown as a number. */
const statusWords: Readonly<Record<number, string>> = {
  301: '301: permanent',
  302: '302: temporary',
  307: '307: temporary, keeps the method',
  308: '308: permanent, keeps the method',
};

/** To the primary domain or one that stays, never back along an existing redirect. */
function likelyRedirect(hostnames: readonly string[], { domains }: Settings) {
  const { primary, redirects } = domains;
  const stays = hostnames.filter((name) => !redirects.some(({ from }) => from === name));
  const to = primary ?? stays[0] ?? '';
  const others = hostnames.filter((name) => name !== to);
  const isFree = (name: string) =>
    stays.includes(name) && !redirects.some((one) => one.to === name);
  return { from: others.find(isFree) ?? others[0] ?? '', to };
}

function newRedirect(
  { form: typed, link, params, session }: SignedInRequest,
  hostnames: Hostnames,
  settings: Settings,
): Html {
  const path = link(`${projectPath(params['projectId'] ?? '')}/settings/redirects`);
  const likely = likelyRedirect(hostnames.names, settings);
  const statuses = redirectStatuses.map((status) => ({
    value: String(status),
    text: statusWords[status] ?? String(status),
  }));
  const fields = html`<div class="fields">${hostnameField({ name: 'from', label: 'From', value: typed.get('from') ?? likely.from }, hostnames)}
${hostnameField({ name: 'to', label: 'To', value: typed.get('to') ?? likely.to }, hostnames)}
${choiceField({ name: 'status', label: 'Status', value: typed.get('status') ?? '301' }, statuses)}</div>
<button class="btn primary">Add the redirect</button>`;
  return html`<section class="card" aria-labelledby="new-redirect"><div class="card-head"><h2 id="new-redirect">New redirect</h2></div><div class="card-body">${form(path, session, fields, 'form')}</div></section>`;
}

type SettingsDomains = Settings['domains'];
type SettingsRedirect = SettingsDomains['redirects'][number];

export type SettingsChange = {
  /** Can be called several times, and must not modify its input. */
  readonly apply: (domains: SettingsDomains) => SettingsDomains;
  /** The changed part as text. A concurrent change of the same part refuses this one. */
  readonly part: (domains: SettingsDomains) => string;
  /** That part when the user saw it; by default, its value when the settings are first read. */
  readonly seen?: string;
};

/** Each failed attempt is someone else's stored change; more simultaneous users are unlikely. */
const TRIES_MAX = 16;

/** Retries after concurrent changes of other parts; `precondition_failed` for the same part. */
export async function changeSettings(
  { api, params }: SignedInRequest,
  { apply, part, seen: shown }: SettingsChange,
): Promise<ApiAnswer<Settings>> {
  const path = apiPath(`${projectPath(params['projectId'] ?? '')}/domain-settings`);
  let seen = shown;
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const now = await api.call<Settings>('GET', path);
    if (!now.ok) return now;
    const domains = apply(now.body.domains);
    const stands = part(now.body.domains);
    seen ??= stands;
    if (stands !== seen && stands !== part(domains)) return overtaken;
    // The version check covers all settings: any later change makes this fail.
    const answer = await api.call<Settings>('PUT', path, { domains }, now.etag);
    if (answer.ok || answer.error.code !== 'precondition_failed') return answer;
  }
  return busy;
}

const overtaken = notStored(
  'Someone else changed this setting. The current value is shown; yours was not saved.',
);
const busy = notStored('Someone else is changing these settings. Try again.');

function notStored(words: string) {
  const { status, body } = refuse('precondition_failed', words);
  return { ok: false, status, error: body } as const;
}

/** Adds a redirect at the end, replacing an existing one of the same domain. */
export function withRedirect(redirect: SettingsRedirect): SettingsChange {
  return {
    part: ({ redirects }) => JSON.stringify(entryOf(redirects, redirect.from)),
    apply: (domains) => ({
      ...domains,
      redirects: [...domains.redirects.filter(({ from }) => from !== redirect.from), redirect],
    }),
  };
}

/** `to`: the target when it was shown; refused if it changed. Null: any target. */
function withoutRedirect(from: string, to: string | null): SettingsChange {
  return {
    part: ({ redirects }) => entryOf(redirects, from)?.[1] ?? '',
    ...(to !== null && { seen: to }),
    apply: (domains) => ({
      ...domains,
      redirects: domains.redirects.filter((one) => one.from !== from),
    }),
  };
}

export function withPrimary(primary: string | null): SettingsChange {
  return {
    part: (domains) => domains.primary ?? '',
    apply: (domains) => ({ ...domains, primary }),
  };
}

/** With fixed field order, for comparison as text. */
function entryOf(redirects: readonly SettingsRedirect[], from: string) {
  const entry = redirects.find((one) => one.from === from);
  return entry === undefined ? null : ([entry.from, entry.to, entry.status] as const);
}
