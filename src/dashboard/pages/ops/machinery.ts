import { secondsInWords } from '../../../core/operations/operator-task.ts';
import { type Html, html } from '../../../net/html.ts';
import type { OverviewView } from '../../client.ts';
import { QUEUES } from '../../client.ts';
import type { SignedInRequest } from '../../layout.ts';
import { badge } from '../../parts/elements.ts';
import { table } from '../../parts/table.ts';
import { relativeTime } from '../../parts/times.ts';
import { meter } from './charts.ts';

/** If the queue does not answer, the database provides the delays. */
export function machinery(overview: OverviewView, asked: SignedInRequest): Html {
  return html`${queuesSection(overview, asked)}
${budgetSection(overview, asked)}
${turnsSection(overview, asked)}`;
}

function queuesSection({ queues, overdue }: OverviewView, { link }: SignedInRequest): Html {
  const late = new Map(overdue.map(({ queue, seconds }) => [queue, seconds]));
  // Missing: nothing is overdue in that queue.
  const lateness = (seconds = 0) => (seconds < 1 ? 'on time' : `${secondsInWords(seconds)} late`);
  const counted =
    queues === null
      ? html`<p>The queue does not answer. By the database:</p>${table(
          'How late each queue is',
          [
            { heading: 'Queue', names: true, cell: ({ queue }) => html`<code>${queue}</code>` },
            { heading: 'Late', cell: ({ seconds }) => lateness(seconds) },
          ],
          overdue,
        )}`
      : table(
          'Queues',
          [
            { heading: 'Queue', names: true, cell: queueCell },
            { heading: 'Waiting', cell: (row) => String(row.waiting + row.prioritized) },
            { heading: 'Scheduled', cell: ({ delayed }) => String(delayed) },
            { heading: 'Running', cell: ({ active }) => String(active) },
            { heading: 'Failed', cell: ({ failed }) => String(failed) },
            { heading: 'Oldest', cell: ({ queue }) => lateness(late.get(queue)) },
          ],
          queues,
        );
  return html`<h2 class="section-title" id="queues">Queues</h2>
${counted}
<p><a href="${link(QUEUES)}">Open the queues</a></p>`;
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

/** Null if the CA's limits are not counted. */
function budgetSection({ authorityBudget }: OverviewView, { now }: SignedInRequest): Html | null {
  if (authorityBudget === null || authorityBudget.length === 0) return null;
  return html`<h2 class="section-title" id="budget">Certificate authority limits</h2>
${table(
  'Limits closest to exhaustion',
  [
    { heading: 'Limit', names: true, cell: ({ limit }) => limit },
    { heading: 'Authority', cell: ({ authority }) => authority },
    {
      heading: 'Left',
      cell: ({ left, of }) => html`${meter(left, of, left === 0 ? 'bad' : 'ok')} of ${of}`,
    },
    { heading: 'Full again', cell: ({ fullAt }) => relativeTime(fullAt, now) },
  ],
  authorityBudget,
)}`;
}

/** By the API's names; unknown ones are shown as they are. */
const repaired: Readonly<Record<string, string>> = {
  missing_job: 'missing jobs',
  overdue_job: 'overdue jobs',
  orphaned_job: 'orphaned jobs',
  missing_sweep: 'missing sweeps',
};

function turnsSection({ turns, repairs }: OverviewView, { now }: SignedInRequest): Html {
  const done =
    repairs.length === 0
      ? html`<p class="quiet">Nothing has needed repair.</p>`
      : html`<h3 class="section-title">Repaired</h3>${table(
          'What the reconciler repaired',
          [
            { heading: 'What', names: true, cell: ({ kind }) => repaired[kind] ?? kind },
            { heading: 'How many', cell: ({ count }) => String(count) },
            { heading: 'Last', cell: ({ lastAt }) => relativeTime(lastAt, now) },
          ],
          repairs,
        )}`;
  return html`<h2 class="section-title" id="turns">Periodic tasks</h2>
${
  turns.length === 0
    ? html`<p>No worker has run yet.</p>`
    : table(
        'When each periodic task last ran',
        [
          { heading: 'Task', names: true, cell: ({ name }) => html`<code>${name}</code>` },
          { heading: 'Last run', cell: ({ takenAt }) => relativeTime(takenAt, now) },
        ],
        turns,
      )
}
${done}`;
}
