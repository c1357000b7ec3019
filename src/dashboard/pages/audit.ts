/** Who did what in the session's account, or in the installation. */
import { isUuid } from '../../core/uuid.ts';
import { type Html, html } from '../../net/html.ts';
import type { AuditView } from '../client.ts';
import type { Link, PageContent, PageRoute, SignedInRequest } from '../layout.ts';
import { breakable, empty, relativeTime } from '../parts/elements.ts';
import { type Column, given, pagePath, pager, table } from '../parts/table.ts';
import { refusedPage } from './problem.ts';

const PAGE_SIZE = 50;
const filters = ['keyId', 'operation', 'object', 'projectId'] as const;

export function auditPages(): readonly PageRoute[] {
  return [{ method: 'GET', path: '/audit', handle: listPage }];
}

async function listPage(asked: SignedInRequest): Promise<PageContent> {
  const { api, link, query } = asked;
  const path = pagePath('/v1/audit', query, PAGE_SIZE, filters);
  const answer = await api.call<readonly AuditView[]>('GET', path);
  if (!answer.ok) return refusedPage(answer.error, asked);
  const { body: entries, next } = answer;
  const isFiltered = Object.keys(given(query, filters)).length > 0;
  const all = isFiltered
    ? html`<a class="btn sm" href="${link('/audit')}">Show everything</a>`
    : null;
  return {
    kind: 'page',
    section: 'keys',
    above: [{ text: 'Keys', path: '/keys' }],
    title: 'Audit log',
    main: html`<header class="head"><div class="head-title"><h1>Audit log</h1></div><div class="head-actions">${all}</div></header>
<div class="stack"><p class="quiet">Who changed what, signed in, or was refused for lack of rights. Entries are kept for 400 days. Follow a name to see only its entries.</p>
${entries.length === 0 ? empty('No entries', 'Nothing like this was done yet.') : table('Entries', columns(asked), entries)}
${pager(query, next, link('/audit'), filters)}</div>`,
  };
}

function columns({ link, now }: SignedInRequest): readonly Column<AuditView>[] {
  return [
    { heading: 'What', cell: (entry) => whatOf(entry, link), names: true },
    {
      heading: 'On',
      cell: ({ object }) => only(link, 'object', object, breakable(nameOf(object))),
    },
    { heading: 'Who', cell: ({ actor }) => whoOf(actor, link) },
    { heading: 'From', cell: ({ actor }) => actor.address ?? '' },
    { heading: 'When', cell: ({ lastAt }) => relativeTime(lastAt, now) },
  ];
}

function whatOf({ summary, operation, status, count, fields }: AuditView, link: Link): Html {
  const result = status === null ? 'not finished' : status >= 400 ? 'refused' : null;
  const times = count === 1 ? null : `${count} times`;
  const more = [result, times, fields.length === 0 ? null : fields.join(', ')];
  const words = more.filter((one) => one !== null).join(' · ');
  return html`${only(link, 'operation', operation, html`${summary}`)}${words === '' ? null : html` <span class="quiet small">${words}</span>`}`;
}

function whoOf({ kind, keyId, keyName, sessionId }: AuditView['actor'], link: Link): Html | string {
  if (kind === 'signpost') return 'Signpost';
  if (keyId === null) return 'an operator';
  const how = sessionId === null ? 'API' : 'dashboard';
  return html`${only(link, 'keyId', keyId, html`${keyName ?? keyId}`)} <span class="quiet small">${how}</span>`;
}

function only(link: Link, name: (typeof filters)[number], value: string, words: Html): Html {
  return html`<a href="${link(`/audit?${new URLSearchParams({ [name]: value })}`)}">${words}</a>`;
}

const kinds: Readonly<Record<string, string>> = {
  accounts: 'account',
  projects: 'project',
  deploys: 'deploy',
  webhooks: 'webhook',
  keys: 'key',
  sessions: 'session',
  escalations: 'escalation',
  processes: 'process',
};
/** Of a UUID. */
const SHORT_ID = 8;

/** A domain by its name, everything else by its kind and its ID. */
function nameOf(object: string): string {
  const parts = object.split('/').filter((part) => part !== '');
  const [kind = '', id = ''] = parts.slice(-2);
  if (kind === 'domains') return id;
  const shortId = isUuid(id) ? id.slice(0, SHORT_ID) : id;
  return kind in kinds ? `${kinds[kind]} ${shortId}` : object;
}
