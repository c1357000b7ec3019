/** Domains of every project by a part of their name. */
import { type Html, html } from '../../../html.ts';
import type { FoundDomains } from '../../answers.ts';
import type { Page, SignedInRequest } from '../../page.ts';
import { badge, statusBadge } from '../../parts/badge.ts';
import { empty } from '../../parts/empty.ts';
import { table } from '../../parts/table.ts';
import { relativeTime } from '../../parts/time.ts';
import { operationsCrumb, watchedPath } from './paths.ts';
import { refusedToOperator } from './scope.ts';
import { searchForm } from './search-form.ts';

const LISTED = 50;

export const findPage: Page = async (asked) => {
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
    return empty('No domain has this in its name', 'Removed domains are among those looked at.');
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
