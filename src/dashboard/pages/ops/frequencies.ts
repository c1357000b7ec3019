import { toUnicodeName } from '../../../core/names/idna.ts';
import { type Html, html, joined } from '../../../net/html.ts';
import type { OverviewView } from '../../client.ts';
import type { Link, SignedInRequest } from '../../layout.ts';
import { table } from '../../parts/table.ts';
import { relativeTime } from '../../parts/times.ts';
import { meter } from './charts.ts';
import { watchedPath } from './find.ts';

const tones = { blocks: 'bad', warns: 'warn', informs: 'idle' } as const;
export const operatorActors = {
  customer: 'the customer',
  dns_provider: 'their DNS provider',
  platform: 'we',
} as const;

/** Most frequent first; null if there are no findings. */
export function findingFrequencies({ findings }: OverviewView): Html | null {
  if (findings.length === 0) return null;
  const most = Math.max(...findings.map(({ domains }) => domains));
  return html`<h2 class="section-title" id="findings">Findings</h2>
${table(
  'Findings, the most frequent first',
  [
    { heading: 'Finding', names: true, cell: ({ code }) => html`<code>${code}</code>` },
    {
      heading: 'Domains',
      cell: ({ domains, severity }) => meter(domains, most, tones[severity]),
    },
    { heading: 'Severity', cell: ({ severity }) => severity },
    { heading: 'Who acts', cell: ({ actor }) => operatorActors[actor] },
  ],
  findings,
)}`;
}

/** Each with three of its domains; null if all operators answer. */
export function operatorsSection({ dnsOperators }: OverviewView, link: Link): Html | null {
  if (dnsOperators.length === 0) return null;
  const most = Math.max(...dnsOperators.map(({ domains }) => domains));
  const named = (hostname: string) =>
    html`<a href="${link(`/ops/domains?name=${encodeURIComponent(hostname)}`)}">${toUnicodeName(hostname)}</a>`;
  return html`<h2 class="section-title" id="dns-operators">DNS operators with trouble</h2>
<p class="quiet">Their name servers gave no usable answer about these domains. The domains keep their state.</p>
${table(
  'Operators of name servers that did not answer',
  [
    { heading: 'Operator', names: true, cell: ({ operator }) => operator },
    { heading: 'Domains', cell: ({ domains }) => meter(domains, most, 'warn') },
    {
      heading: 'Among them',
      className: 'name',
      cell: ({ hostnames }) => joined(hostnames.map(named), ', '),
    },
  ],
  dnsOperators,
)}`;
}

const daysLeft = {
  ended: ['ended', 'bad'],
  '1': ['less than a day', 'bad'],
  '7': ['less than 7 days', 'warn'],
  '30': ['less than 30 days', 'ok'],
  more: ['30 days and more', 'ok'],
} as const;

/** By time left, and those that expire first. */
export function certificatesSection(
  { certificates }: OverviewView,
  { link, now }: SignedInRequest,
): Html {
  const { byDaysLeft, soonest } = certificates;
  const most = Math.max(...byDaysLeft.map(({ domains }) => domains));
  return html`<h2 class="section-title" id="certificates">Certificates</h2>
${table(
  'Live domains, by the time left on their certificate',
  [
    { heading: 'Left', names: true, cell: ({ within }) => daysLeft[within][0] },
    {
      heading: 'Domains',
      cell: ({ within, domains }) => meter(domains, most, daysLeft[within][1]),
    },
  ],
  byDaysLeft,
)}
${
  soonest.length === 0
    ? null
    : html`<h3 class="section-title">Ending first</h3>${table(
        'Certificates that expire first',
        [
          {
            heading: 'Domain',
            names: true,
            cell: ({ id, hostname }) =>
              html`<a href="${link(watchedPath(id))}">${toUnicodeName(hostname)}</a>`,
          },
          { heading: 'Ends', cell: ({ endsAt }) => relativeTime(endsAt, now) },
        ],
        soonest,
      )}`
}`;
}
