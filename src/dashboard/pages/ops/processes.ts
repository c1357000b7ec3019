import { type Html, html } from '../../../net/html.ts';
import type { FleetView } from '../../client.ts';
import type { SignedInRequest } from '../../layout.ts';
import { badge } from '../../parts/elements.ts';
import { table } from '../../parts/table.ts';
import { relativeTime } from '../../parts/times.ts';
import { panel } from './panel.ts';

const badges = {
  running: badge('ok', 'Running'),
  gone: badge('warn', 'Gone'),
  refused: badge('bad', 'Refused'),
} as const satisfies Readonly<Record<FleetView[number]['state'], Html>>;

export function processesSection(fleet: FleetView, { now }: SignedInRequest): Html {
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
