import { type Html, html } from '../../../net/html.ts';
import type { FleetView } from '../../client.ts';
import type { SignedInRequest } from '../../layout.ts';
import { badge } from '../../parts/elements.ts';
import { table } from '../../parts/table.ts';
import { relativeTime } from '../../parts/times.ts';

const badges = {
  starting: badge('warn', 'Starting'),
  running: badge('ok', 'Running'),
  gone: badge('warn', 'Gone'),
  refused: badge('bad', 'Refused'),
} as const satisfies Readonly<Record<FleetView[number]['state'], Html>>;

export function processesSection(fleet: FleetView, { now }: SignedInRequest): Html {
  return html`<h2 class="section-title" id="processes">Processes</h2>
${table(
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
)}`;
}

function configurationOf({ state, problem, differs }: FleetView[number]): Html | string {
  if (problem !== null) return problem;
  if (differs.length === 0) return state === 'running' ? 'current' : '';
  return html`${differs.map(
    ({ setting, value, current }) => html`<code>${setting}</code> is ${value}, not ${current}. `,
  )}`;
}
