/** Findings without a row in the list of changes. */
import { type Html, html } from '../../../net/html.ts';
import type { Domain, FindingView } from '../../client.ts';
import { fold } from '../../parts/elements.ts';
import { facts } from '../../parts/table.ts';

/**
 * Whether the list of changes says what to do (src/core/diagnosis/changes/). An actor: only if that one
 * has to act; `proof`: only with a record that proves ownership.
 */
const inRows: {
  readonly [C in FindingView['code']]: boolean | 'customer' | 'dns_provider' | 'proof';
} = {
  record_missing: true,
  cname_mismatch: true,
  cname_loop: true,
  conflicting_a: true,
  conflicting_aaaa: true,
  cname_at_apex: true,
  apex_mixed: true,
  apex_elsewhere: true,
  name_servers_disagree: 'dns_provider',
  mail_at_name: true,
  https_record_mismatch: true,
  caa_blocks: 'customer',
  held_elsewhere: 'proof',
  apex_partial: false,
  caa_unknown: false,
  caa_warns: false,
  delegation_mismatch: false,
  dns_unknown: false,
  dnssec_bogus: false,
  domain_parked: false,
  domain_unregistered: false,
  glue_mismatch: false,
  name_server_lame: false,
  name_server_unreachable: false,
  no_name_servers: false,
  old_answer_cached: false,
  plan_required: false,
  proxied: false,
  reserved_address: false,
  wildcard_answers: false,
};

function isInRows({ changes }: Domain, { code, actor }: FindingView): boolean {
  const rows = inRows[code];
  if (rows === 'customer' || rows === 'dns_provider') return actor === rows;
  if (rows === 'proof') return changes.some(({ type }) => type === 'TXT');
  const type = rowTypes[code];
  return (
    rows &&
    changes.some(
      (one) =>
        one.verb !== 'keep' && one.state !== 'done' && (type === undefined || one.type === type),
    )
  );
}

/** Findings that need a row of this type. Records that a wildcard can answer have no row of their own. */
const rowTypes: { readonly [C in FindingView['code']]?: string } = {
  conflicting_a: 'A',
  conflicting_aaaa: 'AAAA',
  mail_at_name: 'MX',
  https_record_mismatch: 'HTTPS',
};

/** Null without such findings. */
export function adviceSection(domain: Domain): Html | null {
  const others = domain.findings.filter((finding) => !isInRows(domain, finding));
  return others.length === 0 ? null : html`${others.map((one) => advice(one, domain))}`;
}

function advice({ summary, action, hints }: FindingView, domain: Domain): Html {
  // The head of the card says it already.
  const isSaid = domain.summary.text.includes(summary);
  return html`<article class="advice">${isSaid ? null : html`<h3>${summary}</h3>`}
<p>${action}</p>
${hints.length === 0 ? null : html`<ul>${hints.map(({ text }) => html`<li>${text}</li>`)}</ul>`}</article>`;
}

/** For support staff: what each finding rests on. */
export function evidence({ findings }: Domain): Html | null {
  if (findings.length === 0) return null;
  return fold(
    'evidence',
    'What the check found',
    html`${findings.map(({ summary, expected, found, hints }) =>
      facts([
        ['Finding', summary],
        ['Expected', expected],
        ['Found', found],
        ...hints.map(({ text }) => ['Likely', text] as const),
      ]),
    )}`,
  );
}
