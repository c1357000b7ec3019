/** The installation in numbers, beside the problems. */
import type { Tone } from '../../../core/life/summary/summary-types.ts';
import { type Html, html } from '../../../net/html.ts';
import type { FleetView, OverviewView } from '../../client.ts';
import { icon } from '../../parts/icons.ts';
import { relativeTime } from '../../parts/times.ts';
import { activityCharts } from './activity.ts';
import { bar } from './bar.ts';

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
export function domainsFact({ domains }: OverviewView): Html {
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

export function activityFact(overview: OverviewView, now: Date): Html {
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
export function certificatesFact({ certificates: { byDaysLeft } }: OverviewView): Html {
  const lines = byDaysLeft.map(({ within, domains }) => {
    const [words, tone] = daysLeft[within];
    const isBad = domains > 0 && tone !== 'ok';
    return html`<p class="line"${isBad ? html` data-tone="${tone}"` : null}><span>${words}</span><span class="num${isBad ? ' says' : ''}">${grouped(domains)}</span></p>`;
  });
  return fact('Certificates', html`${lines}`);
}

/** Null if no limit is partly used: the API omits full ones. */
export function budgetFact({ authorityBudget }: OverviewView, now: Date): Html | null {
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

export function workersFact({ turns, repairs }: OverviewView, fleet: FleetView, now: Date): Html {
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
