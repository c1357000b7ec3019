import { attribute, type Html, html } from '../../../net/html.ts';
import type { Domain } from '../../client.ts';
import { copyable, fold } from '../../parts/elements.ts';
import { table } from '../../parts/table.ts';

/** Otherwise the record comes first on the page. */
export function isRecordThere({ status }: Domain): boolean {
  return status === 'live' || status === 'verified';
}

export function recordSection(domain: Domain): Html {
  const { record, zone } = domain;
  const isThere = isRecordThere(domain);
  const patience = isThere ? [] : [PATIENCE];
  const hints = [...naming(domain), whereToEnter(domain), LASTING, ...patience];
  return html`<h2 id="record-title">DNS record</h2>
<p>${isThere ? 'The record exists' : 'Create it'} in the zone <strong>${zone}</strong>${isThere ? '; leave it as it is' : ''}.</p>
${table(
  'The DNS record to create',
  [
    { heading: 'Type', cell: ({ type }) => html`<code>${type}</code>`, names: true },
    { heading: 'Name', cell: ({ name }) => copyable(name, 'the name'), className: 'name' },
    { heading: 'Value', cell: ({ value }) => copyable(value, 'the value'), className: 'wide' },
    { heading: 'TTL', cell: ({ ttl }) => html`<code>${ttl}</code>` },
  ],
  [record],
)}
${fold('how-to-enter', 'How to enter it', html`<ul class="hints">${hints.map((words) => html`<li>${words}</li>`)}</ul>`)}`;
}

const LASTING = 'It never changes, even if you verify again or remove the domain and add it again.';

/** As docs/interface.md states it. */
const PATIENCE =
  'DNS changes often show within a few minutes, but can take up to 48 hours. This page updates automatically, so you don’t have to wait here.';

/** What the provider's form expects as the name. */
function naming({ hostname, provider, record, zone }: Domain): readonly (Html | string)[] {
  if (record.type === 'ALIAS') return [inPlaceOfCname(provider, zone)];
  return [
    html`Enter only <code>${record.name}</code> as the name: most providers add <code>.${zone}</code> automatically. If yours wants the full name, enter <code>${hostname}</code>.`,
  ];
}

function inPlaceOfCname(provider: Domain['provider'], zone: string): Html | string {
  if (provider === null) {
    return 'A CNAME can’t be at the top of a zone. Providers call the alternative ALIAS, ANAME or CNAME flattening; not every provider has it. The name @ is the zone itself; some forms want it empty.';
  }
  const { name, apex } = provider;
  if (apex === null) {
    return `${name} is not known to support such a record. Add www.${zone} here and redirect ${zone} to it there, or create the A and AAAA records that the last check names.`;
  }
  return apex === 'CNAME flattening'
    ? html`${name} calls it CNAME flattening: create a CNAME with the name <code>@</code> there, and it is turned into addresses automatically.`
    : html`${name} calls it ${apex}. The name <code>@</code> is the zone itself.`;
}

function whereToEnter({ provider, zone }: Domain): Html | string {
  return provider === null
    ? html`Enter it at the DNS provider of ${zone}, usually where you bought the domain. Look for “DNS settings”, “DNS records” or “zone editor”.`
    : provider.where;
}

type State = 'done' | 'current' | 'failed' | 'to come';

/** The state of the three steps for each status: record, certificate, live. */
const progress: { readonly [S in Domain['status']]: readonly [State, State, State] } = {
  pending: ['current', 'to come', 'to come'],
  verified: ['done', 'current', 'to come'],
  live: ['done', 'done', 'done'],
  drifted: ['failed', 'done', 'failed'],
  failed: ['failed', 'to come', 'to come'],
};

const names = ['DNS record', 'Certificate', 'Live'] as const;

export function steps({ status }: Domain): Html {
  const states = progress[status];
  return html`<ol class="steps" aria-label="Progress">
${names.map((name, index) => step(name, states[index] ?? 'to come'))}
</ol>`;
}

function step(name: string, state: State): Html {
  const [className] = state.split(' ');
  return html`<li class="${className ?? ''}"${attribute('aria-current', state === 'current' ? 'step' : null)}>${name} <span class="unseen">(${state})</span></li>`;
}
