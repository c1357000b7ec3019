import { toUnicodeName } from '../../../core/names/idna.ts';
import { type Html, html, joined } from '../../../net/html.ts';
import type { Escalations, FleetView, OverviewView } from '../../client.ts';
import type { Link, PageHandler, SignedInRequest } from '../../layout.ts';
import { badge, empty } from '../../parts/elements.ts';
import { table } from '../../parts/table.ts';
import { relativeTime } from '../../parts/times.ts';
import { activityCharts } from './charts.ts';
import { refusedToOperator, searchForm, watchedPath } from './find.ts';
import { certificatesSection, findingFrequencies, operatorsSection } from './frequencies.ts';
import { machinery } from './machinery.ts';
import { processesSection } from './processes.ts';

const ESCALATIONS = 10;

/** The number of problems is in the title, so that browser tabs show it. */
export const overviewPage: PageHandler = async (asked) => {
  const { api, link, now } = asked;
  const [overview, escalations, fleet] = await Promise.all([
    api.call<OverviewView>('GET', '/v1/operations/overview'),
    api.call<Escalations>('GET', `/v1/escalations?status=open&limit=${ESCALATIONS}`),
    api.call<FleetView>('GET', '/v1/operations/processes'),
  ]);
  if (!overview.ok) return refusedToOperator(overview.error, asked);
  if (!fleet.ok) return refusedToOperator(fleet.error, asked);
  if (!escalations.ok) return refusedToOperator(escalations.error, asked);
  const { attention, at } = overview.body;
  return {
    kind: 'page',
    section: 'operations',
    title: attention.length === 0 ? 'Operations' : `Operations (${attention.length})`,
    main: html`<header class="head"><div class="head-title"><h1>Operations</h1><p class="sub"><span>Read ${relativeTime(earlier(at, now), now)}; <a href="${link('/ops')}">read again</a></span></p></div></header>
${operatorTasksPanel(overview.body)}
${searchForm(asked, '')}
${figures(overview.body)}
<h2 class="section-title">The last 24 hours</h2>
${activityCharts(overview.body, now)}
${escalationsSection(asked, overview.body, escalations.body)}
${asideSection(asked, overview.body)}
${waitingSection(asked, overview.body)}
${findingFrequencies(overview.body)}
${operatorsSection(overview.body, link)}
${certificatesSection(overview.body, asked)}
${processesSection(fleet.body, asked)}
${machinery(overview.body, asked)}`,
  };
};

/** An overview read after the request started would otherwise appear to be in the future. */
function earlier(at: string, now: Date): string {
  return new Date(Math.min(Date.parse(at), now.getTime())).toISOString();
}

/** The section with details of each problem, by its ID. */
const places = {
  queue_away: 'queues',
  no_worker: 'turns',
  process_cut_off: 'processes',
  role_missing: 'processes',
  process_refused: 'processes',
  processes_differ: 'processes',
  queue_paused: 'queues',
  redis_full: 'queues',
  connections_exhausted: 'processes',
  certificates_unexpected: 'certificates',
  resolvers_silent: 'dns-operators',
  work_overdue: 'queues',
  certificates_ended: 'certificates',
  escalations_open: 'escalations',
  jobs_set_aside: 'set-aside',
  certificates_end_soon: 'certificates',
  dns_operator_silent: 'dns-operators',
} as const satisfies Readonly<Record<OverviewView['attention'][number]['code'], string>>;

function operatorTasksPanel({ attention }: OverviewView): Html {
  if (attention.length === 0) {
    return html`<section class="card problem" aria-label="What to do">${badge('ok', 'All clear')}
<p>There are no known problems.</p></section>`;
  }
  return html`<section class="card" aria-label="What to do"><ol>
${attention.map(
  ({
    code,
    urgency,
    summary,
    action,
  }) => html`<li class="problem">${urgency === 'act' ? badge('bad', 'Act now') : badge('warn', 'Watch')}
<p><strong>${summary}</strong></p><p>${action} <a href="#${places[code]}">View</a></p></li>`,
)}</ol></section>`;
}

const words = {
  pending: 'Not set up',
  verified: 'Getting certificate',
  live: 'Live',
  drifted: 'No longer live',
  failed: 'Failed',
} as const satisfies Readonly<Record<keyof OverviewView['domains'], string>>;

function figures({ domains }: OverviewView): Html {
  const statuses = Object.keys(words) as readonly (keyof typeof words)[]; // only its own keys
  return html`<dl class="totals" aria-label="Domains by status">${statuses.map((status) => html`<div class="card"><dt>${words[status]}</dt><dd>${domains[status]}</dd></div>`)}</dl>`;
}

/** `hostname`: A-labels. */
function domainLink(
  { id, hostname }: { readonly id: string; readonly hostname: string },
  link: Link,
): Html {
  return html`<a href="${link(watchedPath(id))}">${toUnicodeName(hostname)}</a>`;
}

function escalationsSection(
  { link, now }: SignedInRequest,
  { escalations: causes }: OverviewView,
  escalations: Escalations,
): Html {
  const open = causes.reduce((sum, one) => sum + one.open, 0);
  if (escalations.length === 0) {
    return html`<h2 class="section-title" id="escalations">Open escalations</h2>${empty('None', 'All certificates are issued and renewed without problems.')}`;
  }
  return html`<h2 class="section-title" id="escalations">Open escalations</h2>
${table(
  'Open escalations, the newest first',
  [
    {
      heading: 'Domain',
      names: true,
      cell: ({ domainId: id, hostname }) => domainLink({ id, hostname }, link),
    },
    {
      heading: 'Cause and what happens next',
      className: 'wide',
      cell: ({ summary, nextAction }) => html`${summary} <span class="quiet">${nextAction}</span>`,
    },
    { heading: 'Since', cell: ({ openedAt }) => relativeTime(openedAt, now) },
  ],
  escalations,
)}
${
  open <= escalations.length
    ? null
    : html`<p class="quiet">${open} are open: ${joined(
        causes.map((one) => html`${one.open} <code>${one.cause}</code>`),
        ', ',
      )}. These are the newest.</p>`
}`;
}

function asideSection({ link, now }: SignedInRequest, { setAside }: OverviewView): Html | null {
  if (setAside.newest.length === 0) return null;
  return html`<h2 class="section-title" id="set-aside">Quarantined jobs</h2>
${table(
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
  setAside.newest,
)}`;
}

function waitingSection({ link, now }: SignedInRequest, { waiting }: OverviewView): Html | null {
  if (waiting.length === 0) return null;
  return html`<h2 class="section-title" id="waiting">Waiting longest</h2>
${table(
  'Domains waiting longest',
  [
    { heading: 'Domain', names: true, cell: (row) => domainLink(row, link) },
    {
      heading: 'For',
      cell: ({ status }) => (status === 'pending' ? 'its DNS' : 'its certificate'),
    },
    { heading: 'Since', cell: ({ since }) => relativeTime(since, now) },
    {
      heading: 'Next check',
      cell: ({ nextCheckAt }) =>
        nextCheckAt === null ? 'none' : relativeTime(nextCheckAt, now, 'to-come'),
    },
  ],
  waiting,
)}`;
}
