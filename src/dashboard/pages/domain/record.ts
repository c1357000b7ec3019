/** The DNS records to create, what this provider calls them, and where they are entered. */
import { attribute, type Html, html } from '../../../net/html.ts';
import type { Domain } from '../../client.ts';
import { copyable, fold } from '../../parts/elements.ts';
import { table } from '../../parts/table.ts';

/** Whether the record was found to be right. Otherwise it is what the page is about, and comes first. */
export function isRecordThere({ status }: Domain): boolean {
  return status === 'live' || status === 'verified';
}

/**
 * The record to create with buttons that copy it, and how it is entered at the provider that runs the zone, where
 * that is known.
 */
export function recordSection(domain: Domain): Html {
  const { record, proofRecord } = domain;
  const isThere = isRecordThere(domain);
  const patience = isThere ? [] : [PATIENCE];
  const lasting = proofRecord === null ? LASTING : `${LASTING} ${NOT_LASTING}`;
  const hints = [...naming(domain), whereToEnter(domain), lasting, ...patience];
  return html`<h2 id="record-title">${proofRecord === null ? 'DNS record' : 'DNS records'}</h2>
${whatToDo(domain)}
${table(
  proofRecord === null ? 'The DNS record to create' : 'The DNS records to create',
  [
    { heading: 'Type', cell: ({ type }) => html`<code>${type}</code>`, names: true },
    { heading: 'Name', cell: ({ name }) => copyable(name, 'the name'), className: 'name' },
    { heading: 'Value', cell: ({ value }) => copyable(value, 'the value'), className: 'wide' },
    { heading: 'TTL', cell: ({ ttl }) => html`<code>${ttl}</code>` },
  ],
  proofRecord === null ? [record] : [record, proofRecord],
)}
${fold('how-to-enter', 'How it is entered', html`<ul class="hints">${hints.map((words) => html`<li>${words}</li>`)}</ul>`)}`;
}

function whatToDo(domain: Domain): Html {
  const { zone, proofRecord, record } = domain;
  if (proofRecord !== null) {
    return html`<p>Create both in the zone <strong>${zone}</strong>. ${proofRecord.why} The ${proofRecord.type} record says that it is this project’s; the ${record.type} record leads visitors here.</p>`;
  }
  return isRecordThere(domain)
    ? html`<p>The record exists in the zone <strong>${zone}</strong>; leave it as it is.</p>`
    : html`<p>Create it in the zone <strong>${zone}</strong>.</p>`;
}

const LASTING = 'It never changes, even if you verify again or remove the domain and add it again.';
const NOT_LASTING = 'The TXT record is another one when the domain is added again.';

/** How long DNS changes take, as the interface document says it. */
const PATIENCE =
  'DNS changes often show within a few minutes, but can take up to 48 hours. This page updates by itself; you don’t have to wait here.';

/** What the fields of the provider's form want for the name. */
function naming({ hostname, provider, record, zone }: Domain): readonly (Html | string)[] {
  if (record.type === 'ALIAS') return [inPlaceOfCname(provider, zone)];
  return [
    html`Enter only <code>${record.name}</code> as the name: most providers add <code>.${zone}</code> automatically. If yours wants the full name, enter <code>${hostname}</code>.`,
  ];
}

function inPlaceOfCname(provider: Domain['provider'], zone: string): Html | string {
  if (provider === null) {
    return 'A CNAME can’t stand at the top of a zone. Providers call the alternative ALIAS, ANAME or CNAME flattening; not every provider has it. The name @ is the zone itself; some forms want it empty.';
  }
  const { name, apex } = provider;
  if (apex === null) {
    return `${name} has no such record, as far as we know. Add www.${zone} here and redirect ${zone} to it there, or create the A and AAAA records that the last check names.`;
  }
  return apex === 'CNAME flattening'
    ? html`${name} calls it CNAME flattening: create a CNAME with the name <code>@</code> there, and it is turned into addresses automatically.`
    : html`${name} calls it ${apex}. The name <code>@</code> is the zone itself.`;
}

function whereToEnter({ provider, zone }: Domain): Html | string {
  return provider === null
    ? html`It is entered where the DNS of ${zone} is kept, mostly where the domain was bought: look for “DNS settings”, “DNS records” or “zone editor”.`
    : provider.where;
}

type State = 'done' | 'current' | 'failed' | 'to come';

/** Where each status stands in the three steps: record, certificate, live. */
const progress: { readonly [S in Domain['status']]: readonly [State, State, State] } = {
  pending: ['current', 'to come', 'to come'],
  verified: ['done', 'current', 'to come'],
  live: ['done', 'done', 'done'],
  drifted: ['failed', 'done', 'failed'],
  failed: ['failed', 'to come', 'to come'],
};

const names = ['DNS record', 'Certificate', 'Live'] as const;

/** The three steps with where the domain is among them. */
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
