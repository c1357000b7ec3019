import type { ErrorBody } from '../../../http/pipeline/errors.ts';
import { type Html, html } from '../../../net/html.ts';
import type { FoundDomains } from '../../client.ts';
import type { PageContent, PageHandler, SignedInRequest } from '../../layout.ts';
import { badge, empty, relativeTime, statusBadge } from '../../parts/elements.ts';
import { table } from '../../parts/table.ts';
import { refusedPage, type Visitor, wayOut } from '../problem.ts';

const LISTED = 50;

/** Without a name, it makes no request; an invalid name finds nothing. */
export const findPage: PageHandler = async (asked) => {
  const { api, query } = asked;
  const name = (query.get('name') ?? '').trim();
  const path = `/v1/operations/domains?limit=${LISTED}&hostname=${encodeURIComponent(name)}`;
  const found = name === '' ? null : await api.call<FoundDomains>('GET', path);
  if (found?.ok === false && found.status !== 400) return refusedToOperator(found.error, asked);
  return {
    kind: 'page',
    title: name === '' ? 'Find a domain' : `Domains with ${name}`,
    above: [operationsCrumb],
    main: html`<h1>Find a domain</h1>
${searchForm(asked, name)}
${found === null ? null : results(asked, found.ok ? found.body : [])}`,
  };
};

function results({ link, now }: SignedInRequest, found: FoundDomains): Html {
  if (found.length === 0) {
    return empty('No domains match', 'Removed domains are included.');
  }
  return html`${table(
    'Domains found',
    [
      {
        heading: 'Domain',
        names: true,
        cell: ({ id, unicodeHostname }) =>
          html`<a href="${link(watchedPath(id))}">${unicodeHostname}</a>`,
      },
      {
        heading: 'Status',
        cell: ({ status, removedAt }) =>
          removedAt === null
            ? statusBadge(status)
            : html`${badge('quiet', 'Removed')} ${relativeTime(removedAt, now)}`,
      },
      { heading: 'Project', cell: ({ project }) => project.name },
    ],
    found,
  )}
${found.length < LISTED ? null : html`<p class="quiet">These are the first ${LISTED}. Type more of the name to see others.</p>`}`;
}

export function searchForm({ link }: Pick<SignedInRequest, 'link'>, name: string): Html {
  return html`<search><form class="search" method="get" action="${link('/ops/domains')}">
<div class="field"><label for="name">Find a domain</label>
<input id="name" name="name" value="${name}" placeholder="docs.example.com, or a part of it" inputmode="url" autocomplete="off" autocapitalize="none" spellcheck="false" required></div>
<button>Find</button>
</form></search>`;
}

/** For keys without the scope `ops:read`. */
export function needsOperator(visitor: Visitor): PageContent {
  return {
    kind: 'page',
    status: 403,
    title: 'For operators',
    main: html`<div class="empty"><h1>For operators</h1>
<p>This page shows every project. Your key lacks permission. Viewing requires the scope <code>ops:read</code>, changes require <code>admin</code>.</p>
<p>An administrator can create a key: <code>signpost keys create --name operator --scope ops:read</code></p>
${wayOut(visitor)}</div>`,
  };
}

/** A missing scope explains how to get a key. */
export function refusedToOperator(error: ErrorBody, visitor: Visitor): PageContent {
  return error.code === 'insufficient_scope' ? needsOperator(visitor) : refusedPage(error, visitor);
}

export function watchedPath(domainId: string): string {
  return `/ops/domains/${encodeURIComponent(domainId)}`;
}

export function operationsPath(domainId: string): string {
  return `/v1/operations/domains/${encodeURIComponent(domainId)}`;
}

export const operationsCrumb = { text: 'Operations', path: '/ops' } as const;
