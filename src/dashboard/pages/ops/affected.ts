/** The domains that problems affect. */
import { toUnicodeName } from '../../../core/names/idna.ts';
import { type Html, html, joined } from '../../../net/html.ts';
import type { Escalations, OverviewView } from '../../client.ts';
import type { Link, SignedInRequest } from '../../layout.ts';
import { panel, relativeTime } from '../../parts/elements.ts';
import { table } from '../../parts/table.ts';
import { watchedPath } from './find.ts';

type Named = { readonly id: string; readonly hostname: string };

/** `hostname`: A-labels. */
export function domainLink({ id, hostname }: Named, link: Link): Html {
  return html`<a href="${link(watchedPath(id))}">${toUnicodeName(hostname)}</a>`;
}

/** Null if no escalation is open. */
export function escalationsSection(
  { link, now }: SignedInRequest,
  { escalations: causes }: OverviewView,
  escalations: Escalations,
): Html | null {
  if (escalations.length === 0) return null;
  const open = causes.reduce((sum, one) => sum + one.open, 0);
  const rows = table(
    'Open escalations, newest first',
    [
      {
        heading: 'Domain',
        names: true,
        cell: ({ domainId: id, hostname }) => domainLink({ id, hostname }, link),
      },
      {
        heading: 'Cause and what happens next',
        className: 'wide',
        cell: ({ summary, nextAction }) =>
          html`${summary} <span class="quiet">${nextAction}</span>`,
      },
      { heading: 'Since', cell: ({ openedAt }) => relativeTime(openedAt, now) },
    ],
    escalations,
  );
  const byCause = joined(
    causes.map((one) => html`${one.open} <code>${one.cause}</code>`),
    ', ',
  );
  return panel(
    'escalations',
    'Certificates that are late',
    html`${open <= escalations.length ? null : html`<p class="quiet">${open} are open: ${byCause}. These are the newest.</p>`}${rows}`,
  );
}

/** Null if no job is quarantined. */
export function quarantineSection(
  { link, now }: SignedInRequest,
  { quarantined }: OverviewView,
): Html | null {
  if (quarantined.newest.length === 0) return null;
  const rows = table(
    'Quarantined jobs, newest first',
    [
      {
        heading: 'Domain',
        names: true,
        cell: ({ domainId: id, hostname }) =>
          id === null || hostname === null ? 'None' : domainLink({ id, hostname }, link),
      },
      { heading: 'Queue', cell: ({ queue }) => html`<code>${queue}</code>` },
      { heading: 'Reason', className: 'wide', cell: ({ reason }) => reason },
      { heading: 'Times', cell: ({ times }) => String(times) },
      { heading: 'Next retry', cell: ({ until }) => relativeTime(until, now, 'to-come') },
    ],
    quarantined.newest,
  );
  return panel('quarantined', 'Quarantined jobs', rows);
}

/** Null if no domain is waiting. */
export function waitingSection(
  { link, now }: SignedInRequest,
  { waiting }: OverviewView,
): Html | null {
  if (waiting.length === 0) return null;
  const rows = table(
    'Domains that have waited longest',
    [
      { heading: 'Domain', names: true, cell: (row) => domainLink(row, link) },
      {
        heading: 'For',
        className: 'hide-phone',
        cell: ({ status }) => (status === 'pending' ? 'DNS' : 'Certificate'),
      },
      { heading: 'Since', className: 'n', cell: ({ since }) => relativeTime(since, now) },
      {
        heading: 'Next check',
        className: 'n',
        cell: ({ nextCheckAt }) =>
          nextCheckAt === null ? 'none' : relativeTime(nextCheckAt, now, 'to-come'),
      },
    ],
    waiting,
    'dense',
  );
  return panel('waiting', 'Waiting longest', rows);
}
