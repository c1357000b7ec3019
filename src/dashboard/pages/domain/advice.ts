/** Findings that no row of the list of changes says. */
import { type Html, html } from '../../../net/html.ts';
import type { Domain, FindingView } from '../../client.ts';
import { fold } from '../../parts/elements.ts';
import { facts } from '../../parts/table.ts';

/** Their changes are rows (src/core/diagnosis/changes/). */
const inRows: ReadonlySet<string> = new Set([
  'record_missing',
  'cname_mismatch',
  'cname_loop',
  'conflicting_a',
  'conflicting_aaaa',
  'cname_at_apex',
  'apex_mixed',
  'apex_elsewhere',
  'name_servers_disagree',
  'mail_at_name',
  'https_record_mismatch',
]);

function isInRows({ changes }: Domain, { code, actor }: FindingView): boolean {
  const isOpen = changes.some(({ verb, state }) => verb !== 'keep' && state !== 'done');
  if (code === 'caa_blocks') return actor === 'customer';
  if (code === 'held_elsewhere') return changes.some(({ type }) => type === 'TXT');
  return isOpen && inRows.has(code);
}

/** Null if the rows say everything. */
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
    html`${findings.map(({ summary, expected, found }) =>
      facts([
        ['Finding', summary],
        ['Expected', expected],
        ['Found', found],
      ]),
    )}`,
  );
}
