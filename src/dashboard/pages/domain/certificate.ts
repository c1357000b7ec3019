/** The certificate of a domain, what a browser's warning means, and the case that is open for an operator. */
import { type Html, html } from '../../../net/html.ts';
import type { Domain } from '../../client.ts';
import { badge, bothTimes, fold } from '../../parts/elements.ts';
import { facts } from '../../parts/table.ts';

const statuses = {
  none: badge('quiet', 'None yet'),
  ordering: badge('busy', 'Ordered'),
  issued: badge('good', 'Issued'),
  failed: badge('bad', 'Refused'),
} as const;

/** What a visitor meets that no finding tells of. */
const problems: ReadonlySet<string> = new Set(['other_certificate', 'not_shown']);

export function certificateSection({ certificate, escalation }: Domain, now: Date): Html {
  const { status, issuer, issuedAt, expiresAt, nextAttemptAt, problem, browser } = certificate;
  const inBrowser = ['In a browser', browser.summary] as const;
  const hasProblem = problems.has(browser.state);
  return html`<h2>Certificate</h2>
${escalation === null ? null : escalationCard(escalation, now)}
${facts([
  ['State', statuses[status]],
  expiresAt === null ? null : ['Valid until', bothTimes(expiresAt, now)],
  ...(problem === null ? [] : refusalOf(problem)),
  nextAttemptAt === null ? null : ['Next attempt', bothTimes(nextAttemptAt, now, 'to-come')],
  hasProblem ? inBrowser : null,
])}
${fold(
  'more-of-certificate',
  hasProblem ? 'More about it' : 'More, and what a browser’s warning means',
  facts([
    issuer === null ? null : ['Issuer', issuer],
    issuedAt === null ? null : ['Valid from', bothTimes(issuedAt, now)],
    problem === null ? null : ['The refusal', `${problem.detail} (${problem.type})`],
    hasProblem ? null : inBrowser,
  ]),
)}`;
}

function refusalOf({ summary, action }: NonNullable<Domain['certificate']['problem']>) {
  return [
    ['Why it was refused', summary],
    ['What to do', action],
  ] as const;
}

function escalationCard(escalation: NonNullable<Domain['escalation']>, now: Date): Html {
  const { openedAt, summary, nextAction } = escalation;
  return html`<article class="finding warns"><div class="finding-head"><h3>An operator was notified</h3>${badge('warning', 'Open')}</div>
${facts([
  ['Since', bothTimes(openedAt, now)],
  ['Why', summary],
  ['What happens next', nextAction],
])}</article>`;
}
