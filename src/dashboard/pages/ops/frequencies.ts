import { toUnicodeName } from '../../../core/names/idna.ts';
import { type Html, html, joined } from '../../../net/html.ts';
import type { OverviewView } from '../../client.ts';
import type { Link } from '../../layout.ts';
import { bar, panel } from '../../parts/elements.ts';
import { table } from '../../parts/table.ts';

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
  const rows = table(
    'Findings, the most frequent first',
    [
      { heading: 'Finding', names: true, cell: ({ code }) => html`<code>${code}</code>` },
      {
        heading: 'Domains',
        className: 'measured',
        cell: ({ domains, severity }) => html`${domains}${bar(domains, most, tones[severity])}`,
      },
      { heading: 'Severity', className: 'hide-phone', cell: ({ severity }) => severity },
      { heading: 'Who acts', className: 'hide-phone', cell: ({ actor }) => operatorActors[actor] },
    ],
    findings,
    'dense',
  );
  return panel('findings', 'Findings', rows);
}

/** Each with three of its domains; null if all operators answer. */
export function operatorsSection({ dnsOperators }: OverviewView, link: Link): Html | null {
  if (dnsOperators.length === 0) return null;
  const most = Math.max(...dnsOperators.map(({ domains }) => domains));
  const named = (hostname: string) =>
    html`<a href="${link(`/ops/domains?name=${encodeURIComponent(hostname)}`)}">${toUnicodeName(hostname)}</a>`;
  const rows = table(
    'Operators of name servers that did not answer',
    [
      { heading: 'Operator', names: true, cell: ({ operator }) => operator },
      {
        heading: 'Domains',
        className: 'measured',
        cell: ({ domains }) => html`${domains}${bar(domains, most, 'warn')}`,
      },
      {
        heading: 'Among them',
        className: 'name',
        cell: ({ hostnames }) => joined(hostnames.map(named), ', '),
      },
    ],
    dnsOperators,
  );
  return panel(
    'dns-operators',
    'DNS operators that do not answer',
    html`<p class="quiet">Their name servers gave no usable answer about these domains. The domains keep their state.</p>${rows}`,
  );
}
