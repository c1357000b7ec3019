import { secondsInWords } from '../../../core/operations/operator-task.ts';
import { type Html, html } from '../../../net/html.ts';
import type { OverviewView } from '../../client.ts';
import { QUEUES } from '../../client.ts';
import type { SignedInRequest } from '../../layout.ts';
import { badge } from '../../parts/elements.ts';
import { table } from '../../parts/table.ts';
import { relativeTime } from '../../parts/times.ts';
import { domainLink } from './affected.ts';
import { panel } from './panel.ts';

/** If the queue does not answer, the database provides the delays. */
export function queuesSection({ queues, overdue }: OverviewView, { link }: SignedInRequest): Html {
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
export function endingFirst(
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
export function periodicTasks({ turns }: OverviewView, { now }: SignedInRequest): Html | null {
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
