/** Rendered on the server, each with a text alternative. */
import { HOUR } from '../../../core/time.ts';
import { type Html, html } from '../../../net/html.ts';
import type { OverviewView } from '../../client.ts';
import { table } from '../../parts/table.ts';

/** This hour and the 23 before it. */
const HOURS = 24;

type Series = { readonly title: string; readonly types: readonly string[]; readonly tone: string };

const series: readonly Series[] = [
  { title: 'Added', types: ['domain.added'], tone: 'wait' },
  { title: 'Went live', types: ['domain.live'], tone: 'ok' },
  {
    title: 'In trouble',
    types: [
      'domain.drifted',
      'domain.failed',
      'certificate.failed',
      'certificate.ended',
      'escalation.opened',
    ],
    tone: 'bad',
  },
];

/** `at`: start of the hour, in ms since 1970. */
type Bar = { readonly at: number; readonly count: number };

/** Hours in UTC; those missing in the API's response count as 0. */
export function activityCharts({ activity }: OverviewView, now: Date): Html {
  const last = Math.floor(now.getTime() / HOUR) * HOUR;
  const hours = Array.from({ length: HOURS }, (_, hour) => last - (HOURS - 1 - hour) * HOUR);
  const counted = new Map(activity.hours.map(({ at, counts }) => [Date.parse(at), counts]));
  const barsOf = ({ types }: Series): readonly Bar[] =>
    hours.map((at) => ({
      at,
      count: (counted.get(at) ?? [])
        .filter(({ type }) => types.includes(type))
        .reduce((sum, { count }) => sum + count, 0),
    }));
  const drawn = series.map((one) => ({ ...one, bars: barsOf(one) }));
  const busy = hours.filter((at) => counted.has(at)).toReversed();
  const numberAt = (bars: readonly Bar[], at: number) =>
    String(bars.find((bar) => bar.at === at)?.count ?? 0);
  return html`${drawn.map(chart)}
${
  busy.length === 0
    ? null
    : html`<details class="fold"><summary>As a table</summary><div>
${table(
  'Events of the last 24 hours, by hour',
  [
    { heading: 'Hour, UTC', cell: (at: number) => hourOf(at), names: true },
    ...drawn.map(({ title, bars }) => ({
      heading: title,
      className: 'n',
      cell: (at: number) => numberAt(bars, at),
    })),
  ],
  busy,
  'dense',
)}</div></details>`
}`;
}

/** In units of the drawing, which is scaled to its container. */
const WIDTH = 240;
const HEIGHT = 28;
const GAP = 2;

function chart({ title, tone, bars }: Series & { readonly bars: readonly Bar[] }): Html {
  const total = bars.reduce((sum, { count }) => sum + count, 0);
  const most = bars.reduce((best, bar) => (bar.count > best.count ? bar : best), {
    at: 0,
    count: 0,
  });
  const said =
    total === 0
      ? `${title}: none in 24 hours.`
      : `${title}: ${total} in 24 hours; most, ${most.count}, in the hour from ${hourOf(most.at)} UTC.`;
  const width = WIDTH / bars.length;
  const rects = bars.map(({ at, count }, place) => {
    // A single event among thousands stays visible; an hour without events is a line.
    const height = count === 0 ? 1 : Math.max(3, (count / most.count) * HEIGHT);
    const [x, y] = [place * width + GAP / 2, HEIGHT - height];
    return html`<rect${count === 0 ? html` class="zero"` : null} x="${x}" y="${y}" width="${width - GAP}" height="${height}" rx="1"><title>${hourOf(at)} UTC: ${count}</title></rect>`;
  });
  return html`<p class="line"><span>${title}</span><span class="num">${total}</span></p>
<svg class="bars" data-tone="${tone}" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${said}" preserveAspectRatio="none">${rects}</svg>`;
}

/** `14:00` in UTC; `at`: ms since 1970. */
function hourOf(at: number): string {
  return new Date(at).toISOString().slice(11, 16);
}
