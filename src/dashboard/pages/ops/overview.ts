import { type Html, html } from '../../../net/html.ts';
import type { Escalations, FleetView, OverviewView } from '../../client.ts';
import type { PageHandler } from '../../layout.ts';
import { empty } from '../../parts/elements.ts';
import { icon } from '../../parts/icons.ts';
import { relativeTime } from '../../parts/times.ts';
import { escalationsSection, quarantineSection, waitingSection } from './affected.ts';
import { activityFact, budgetFact, certificatesFact, domainsFact, workersFact } from './figures.ts';
import { refusedToOperator, searchForm } from './find.ts';
import { findingFrequencies, operatorsSection } from './frequencies.ts';
import { endingFirst, periodicTasks, queuesSection } from './machinery.ts';
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
  const { body } = overview;
  const headline = headlineOf(body);
  return {
    kind: 'page',
    section: 'operations',
    title: `${headline} · Operations`,
    main: html`<div class="above"><p>Operations</p><p>Read ${relativeTime(earlier(body.at, now), now)} · <a href="${link('/ops')}">Read again</a></p></div>
<header class="status" data-tone="${toneOf(body)}"><h1>${icon(toneOf(body))}${headline}</h1>${searchForm(asked, '')}</header>
${problems(body)}
<div class="columns"><div class="stack">
${queuesSection(body, asked)}
${escalationsSection(asked, body, escalations.body)}
${quarantineSection(asked, body)}
${waitingSection(asked, body)}
${operatorsSection(body, link)}
${findingFrequencies(body)}
${endingFirst(body, asked)}
${processesSection(fleet.body, asked)}
${periodicTasks(body, asked)}
</div>
<div class="card">
${domainsFact(body)}
${activityFact(body, now)}
${certificatesFact(body)}
${budgetFact(body, now)}
${workersFact(body, fleet.body, now)}
</div></div>`,
  };
};

/** An overview read after the request started would otherwise appear to be in the future. */
function earlier(at: string, now: Date): string {
  return new Date(Math.min(Date.parse(at), now.getTime())).toISOString();
}

function toneOf({ attention }: OverviewView): 'ok' | 'warn' | 'bad' {
  if (attention.length === 0) return 'ok';
  return attention.some(({ urgency }) => urgency === 'act') ? 'bad' : 'warn';
}

function headlineOf({ attention: { length } }: OverviewView): string {
  return length === 0 ? 'No problems' : `${length} problem${length === 1 ? '' : 's'}`;
}

/** The section with details of each problem, by its ID. */
const places = {
  queue_away: 'queues',
  no_worker: 'processes',
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
  jobs_quarantined: 'quarantined',
  certificates_end_soon: 'certificates',
  dns_operator_silent: 'dns-operators',
} as const satisfies Readonly<Record<OverviewView['attention'][number]['code'], string>>;

const urgencies = {
  act: ['bad', 'Act now'],
  watch: ['warn', 'Watch'],
} as const satisfies Readonly<Record<OverviewView['attention'][number]['urgency'], object>>;

function problems({ attention }: OverviewView): Html {
  if (attention.length === 0) {
    return empty('Nothing to do', 'Problems of the installation and how to fix them appear here.');
  }
  return html`<ul class="card problems" aria-label="Problems, most urgent first">${attention.map(
    ({ code, urgency, summary, action }) => {
      const [tone, word] = urgencies[urgency];
      return html`<li class="problem" data-tone="${tone}">${icon(tone)}<h2>${summary}</h2>
<p>${action}</p><p class="figures"><span class="says">${word}</span><a href="#${places[code]}">Details</a></p></li>`;
    },
  )}</ul>`;
}
