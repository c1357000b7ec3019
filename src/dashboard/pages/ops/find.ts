import type { Tone } from '../../../core/life/summary/summary-types.ts';
import type { ErrorBody } from '../../../http/pipeline/errors.ts';
import { type Html, html } from '../../../net/html.ts';
import type { FoundDomains } from '../../client.ts';
import type { PageContent, PageHandler, SignedInRequest } from '../../layout.ts';
import { badge, empty, relativeTime } from '../../parts/elements.ts';
import { icon } from '../../parts/icons.ts';
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
    section: 'operations',
    title: name === '' ? 'Find a domain' : `Domains with ${name}`,
    above: [operationsCrumb],
    main: html`<header class="status"><h1>Find a domain</h1>${searchForm(asked, name)}</header>
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
            : html`${badge('idle', 'Removed')} ${relativeTime(removedAt, now)}`,
      },
      { heading: 'Project', cell: ({ project }) => project.name },
    ],
    found,
  )}
${found.length < LISTED ? null : html`<p class="quiet">These are the first ${LISTED}. Type more of the name to see others.</p>`}`;
}

const statusTones = {
  pending: ['wait', 'Waiting for DNS'],
  verified: ['wait', 'Getting certificate'],
  live: ['ok', 'Live'],
  drifted: ['bad', 'Needs attention'],
  failed: ['bad', 'Failed'],
} as const satisfies Readonly<Record<FoundDomains[number]['status'], readonly [Tone, string]>>;

/** Of a list whose rows have no summary. */
function statusBadge(status: FoundDomains[number]['status']): Html {
  const [tone, word] = statusTones[status];
  return badge(tone, word);
}

export function searchForm({ link }: Pick<SignedInRequest, 'link'>, name: string): Html {
  return html`<form class="search" role="search" method="get" action="${link('/ops/domains')}">
<input class="input" type="search" id="name" name="name" value="${name}" aria-label="Find a domain" placeholder="Find a domain" inputmode="url" autocomplete="off" autocapitalize="none" spellcheck="false" required><button aria-label="Find">${icon('search')}</button>
</form>`;
}

/** For keys without the scope `ops:read`. */
export function needsOperator(visitor: Visitor): PageContent {
  return {
    kind: 'page',
    section: 'operations',
    status: 403,
    title: 'For operators',
    main: html`<section class="card empty"><h1>For operators</h1>
<p>This page shows every project. Your key lacks permission. Viewing requires the scope <code>ops:read</code>, changes require <code>admin</code>.</p>
<p>An administrator can create a key: <code>signpost keys create --name operator --scope ops:read</code></p>
${wayOut(visitor)}</section>`,
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
