import type { Tone } from '../../../core/life/summary/summary-types.ts';
import { secondsInWords } from '../../../core/operations/operator-tasks.ts';
import { type Html, html } from '../../../net/html.ts';
import { type Escalations, type FleetView, type OverviewView, QUEUES } from '../../client.ts';
import type { PageHandler, SignedInRequest } from '../../layout.ts';
import { badge, bar, empty, panel, relativeTime } from '../../parts/elements.ts';
import { icon } from '../../parts/icons.ts';
import { table } from '../../parts/table.ts';
import { activityCharts } from './activity.ts';
import { domainLink, escalationsSection, quarantineSection, waitingSection } from './affected.ts';
import { refusedToOperator, searchForm } from './find.ts';
import { findingFrequencies, operatorsSection } from './frequencies.ts';

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

/** If the queue does not answer, the database provides the delays. */
function queuesSection({ queues, overdue }: OverviewView, { link }: SignedInRequest): Html {
  const late = new Map(overdue.map(({ queue, seconds }) => [queue, seconds]));
  // Missing: nothing is overdue in that queue.
  const lateness = (seconds = 0) => (seconds < 1 ? 'on time' : `${secondsInWords(seconds)} late`);
  const counted =
    queues === null
      ? html`<p class="quiet">Redis does not answer. By the database:</p>${table(
          'How late each queue is',
          [
            { heading: 'Queue', names: true, cell: ({ queue }) => html`<code>${queue}</code>` },
            { heading: 'Late', className: 'n', cell: ({ seconds }) => lateness(seconds) },
          ],
          overdue,
          'dense',
        )}`
      : table(
          'Queues',
          [
            { heading: 'Queue', names: true, cell: queueCell },
            {
              heading: 'Waiting',
              className: 'n',
              cell: (row) => number(row.waiting),
            },
            {
              heading: 'Scheduled',
              className: 'n hide-phone',
              cell: ({ delayed }) => number(delayed),
            },
            { heading: 'Running', className: 'n hide-phone', cell: ({ active }) => number(active) },
            { heading: 'Failed', className: 'n', cell: ({ failed }) => number(failed) },
            { heading: 'Oldest', className: 'n', cell: ({ queue }) => lateness(late.get(queue)) },
          ],
          queues,
          'dense',
        );
  return panel(
    'queues',
    'Queues',
    counted,
    html`<a class="small" href="${link(QUEUES)}">Open the queues</a>`,
  );
}

function queueCell({
  queue,
  isPaused,
}: {
  readonly queue: string;
  readonly isPaused: boolean;
}): Html {
  return html`<code>${queue}</code>${isPaused ? html` ${badge('bad', 'Paused')}` : null}`;
}

function number(count: number): Html {
  return count === 0 ? html`<span class="quiet">0</span>` : html`${count}`;
}

/** The ten that expire first; null without certificates. */
function endingFirst(
  { certificates: { soonest } }: OverviewView,
  { link, now }: SignedInRequest,
): Html | null {
  if (soonest.length === 0) return null;
  const rows = table(
    'Certificates that expire first',
    [
      { heading: 'Domain', names: true, cell: (row) => domainLink(row, link) },
      { heading: 'Expires', className: 'n', cell: ({ endsAt }) => relativeTime(endsAt, now) },
    ],
    soonest,
    'dense',
  );
  return panel('certificates', 'Certificates that expire first', rows);
}

/** Null before the first worker has run. */
function periodicTasks({ turns }: OverviewView, { now }: SignedInRequest): Html | null {
  if (turns.length === 0) return null;
  const rows = table(
    'When each periodic task last ran',
    [
      { heading: 'Task', names: true, cell: ({ name }) => html`<code>${name}</code>` },
      { heading: 'Last run', className: 'n', cell: ({ takenAt }) => relativeTime(takenAt, now) },
    ],
    turns,
    'dense',
  );
  return panel('turns', 'Periodic tasks', rows);
}

const badges = {
  running: badge('ok', 'Running'),
  gone: badge('warn', 'Gone'),
  refused: badge('bad', 'Refused'),
} as const satisfies Readonly<Record<FleetView[number]['state'], Html>>;

function processesSection(fleet: FleetView, { now }: SignedInRequest): Html {
  const rows = table(
    'Processes of this installation',
    [
      {
        heading: 'Process',
        names: true,
        cell: ({ role, host, pid, version }) =>
          html`${role} on ${host} <span class="quiet">PID ${pid} · ${version}</span>`,
      },
      { heading: 'State', cell: ({ state }) => badges[state] },
      { heading: 'Started', cell: ({ startedAt }) => relativeTime(startedAt, now) },
      { heading: 'Last report', cell: ({ seenAt }) => relativeTime(seenAt, now) },
      { heading: 'Configuration', className: 'wide', cell: configurationOf },
    ],
    fleet,
  );
  return panel('processes', 'Processes', rows);
}

function configurationOf({ state, problem, differs }: FleetView[number]): Html | string {
  if (problem !== null) return problem;
  if (differs.length === 0) return state === 'running' ? 'current' : '';
  return html`${differs.map(
    ({ setting, value, current }) => html`<code>${setting}</code> is ${value}, not ${current}. `,
  )}`;
}

// The installation in numbers, beside the problems.

function fact(title: string, content: Html, more: Html | null = null): Html {
  return html`<section class="fact"><div class="fact-head"><h2>${title}</h2>${more}</div>
${content}</section>`;
}

const statuses = {
  live: ['ok', 'Live'],
  verified: ['wait', 'Getting certificate'],
  pending: ['warn', 'Not set up'],
  drifted: ['bad', 'No longer live'],
  failed: ['bad', 'Failed'],
} as const satisfies Readonly<Record<keyof OverviewView['domains'], readonly [Tone, string]>>;

/** In units of the drawing. */
const SHARE_WIDTH = 100;
const SHARE_GAP = 0.4;

/** Attached domains by status; the bar shows their shares. */
function domainsFact({ domains }: OverviewView): Html {
  const names = Object.keys(statuses) as readonly (keyof typeof statuses)[]; // only its own keys
  const total = names.reduce((sum, name) => sum + domains[name], 0);
  const legend = names.map(
    (name) =>
      html`<li data-tone="${statuses[name][0]}">${icon(statuses[name][0])}<span>${statuses[name][1]}</span><span class="num">${grouped(domains[name])}</span></li>`,
  );
  return fact(
    'Domains',
    html`${total === 0 ? null : shares(names.map((name) => [domains[name], statuses[name][0]]))}<ul class="legend">${legend}</ul>`,
    html`<span class="quiet num">${grouped(total)}</span>`,
  );
}

function shares(parts: readonly (readonly [count: number, tone: Tone])[]): Html {
  const present = parts.filter(([count]) => count > 0);
  const total = present.reduce((sum, [count]) => sum + count, 0);
  const room = SHARE_WIDTH - SHARE_GAP * (present.length - 1);
  let start = 0;
  const rects = present.map(([count, tone]) => {
    const width = (count / total) * room;
    const rect = html`<rect data-tone="${tone}" x="${start}" width="${width}" height="8"/>`;
    start += width + SHARE_GAP;
    return rect;
  });
  return html`<svg class="share" viewBox="0 0 ${SHARE_WIDTH} 8" preserveAspectRatio="none" aria-hidden="true">${rects}</svg>`;
}

function activityFact(overview: OverviewView, now: Date): Html {
  return fact('Last 24 hours', activityCharts(overview, now));
}

const daysLeft = {
  ended: ['Expired', 'bad'],
  '1': ['Less than a day left', 'bad'],
  '7': ['Less than 7 days left', 'warn'],
  '30': ['Less than 30 days left', 'ok'],
  more: ['30 days or more left', 'ok'],
} as const;

/** Those that have expired or expire within a week are listed even if there are none. */
function certificatesFact({ certificates: { byDaysLeft } }: OverviewView): Html {
  const lines = byDaysLeft.map(({ within, domains }) => {
    const [words, tone] = daysLeft[within];
    const isBad = domains > 0 && tone !== 'ok';
    return html`<p class="line"${isBad ? html` data-tone="${tone}"` : null}><span>${words}</span><span class="num${isBad ? ' says' : ''}">${grouped(domains)}</span></p>`;
  });
  return fact('Certificates', html`${lines}`);
}

/** Null if no limit is partly used: the API omits full ones. */
function budgetFact({ authorityBudget }: OverviewView, now: Date): Html | null {
  if (authorityBudget.length === 0) return null;
  return fact(
    'Certificate authority limits',
    html`${authorityBudget.map(({ authority, limit, left, of, fullAt }) => {
      const tone = left === 0 ? 'bad' : 'ok';
      return html`<p class="line"><span title="${authority}">${limit}</span><span class="num">${grouped(left)} of ${grouped(of)}</span></p>${bar(left, of, tone)}
<p class="quiet">Left. Full again ${relativeTime(fullAt, now, 'to-come')}</p>`;
    })}`,
  );
}

/** By the API's names; unknown ones are shown as they are. */
const repaired: Readonly<Record<string, string>> = {
  missing_job: 'missing jobs',
  overdue_job: 'overdue jobs',
  orphaned_job: 'orphaned jobs',
  missing_sweep: 'missing sweeps',
};

function workersFact({ turns, repairs }: OverviewView, fleet: FleetView, now: Date): Html {
  const running = fleet.filter(
    ({ role, state }) => state === 'running' && (role === 'worker' || role === 'all'),
  ).length;
  const tone = running === 0 ? 'bad' : 'ok';
  const [last] = turns
    .map(({ takenAt }) => takenAt)
    .toSorted((one, other) => (one < other ? 1 : -1));
  const fixed = repairs.map(
    ({ kind, count, lastAt }) =>
      html`<p class="line"><span>Repaired ${repaired[kind] ?? kind}</span><span class="num">${grouped(Number(count))} · ${relativeTime(lastAt, now)}</span></p>`,
  );
  return fact(
    'Workers',
    html`<p class="quiet">${last === undefined ? 'No worker has run yet' : html`Last task ${relativeTime(last, now)}`}${repairs.length === 0 ? ' · nothing has needed repair' : null}</p>${fixed}`,
    html`<span class="is" data-tone="${tone}">${icon(tone)}${running} running</span>`,
  );
}

/** `1,308`. */
function grouped(count: number): string {
  return count.toLocaleString('en-US');
}
