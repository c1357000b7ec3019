import { isLocalAuthority } from '../../../certificates/authorities/local.ts';
import type { ErrorBody } from '../../../http/pipeline/errors.ts';
import { type Html, html } from '../../../net/html.ts';
import type { WatchedDomainView } from '../../client.ts';
import { domainPath } from '../../client.ts';
import type { PageContent, SignedInRequest } from '../../layout.ts';
import { badge, bothTimes, domainBadge, refusal, relativeTime } from '../../parts/elements.ts';
import { facts, table } from '../../parts/table.ts';
import { offers } from '../../session.ts';
import { timelineCard } from '../domain/timeline.ts';
import { operationsCrumb, operationsPath, refusedToOperator, watchedPath } from './find.ts';
import { operatorActors } from './frequencies.ts';

/** Removed domains too. `error`: a refused action, shown on top; the page then has its status. */
export const watchedPage = async (
  asked: SignedInRequest,
  error: ErrorBody | null = null,
): Promise<PageContent> => {
  const { api, now, params } = asked;
  const found = await api.call<WatchedDomainView>('GET', operationsPath(params['domainId'] ?? ''));
  if (!found.ok) return refusedToOperator(found.error, asked);
  const { domain, timeline } = found.body;
  return {
    kind: 'page',
    section: 'operations',
    status: error?.status ?? 200,
    title: `${domain.unicodeHostname}: operations`,
    above: [operationsCrumb],
    main: html`${refusal(error)}
${head(asked, found.body)}
${summaryPanel(asked, found.body)}
${escalationSection(asked, found.body)}
${workSection(asked, found.body)}
${findings(found.body)}
${timelineCard(timeline, now)}`,
  };
};

function head(
  { link, now }: SignedInRequest,
  { domain, project, removedAt }: WatchedDomainView,
): Html {
  const { hostname, unicodeHostname } = domain;
  const customers = link(domainPath(project.id, hostname));
  return html`<header class="head"><div class="head-title"><h1>${unicodeHostname}</h1>${removedAt === null ? domainBadge(domain) : badge('idle', 'Removed')}<p class="sub">${unicodeHostname === hostname ? null : html`${hostname} · `}${project.name}${removedAt === null ? html` · <a href="${customers}">as the customer sees it</a>` : html` · removed ${relativeTime(removedAt, now)}`}</p></div></header>`;
}

function summaryPanel(asked: SignedInRequest, { id, domain, removedAt }: WatchedDomainView): Html {
  const { link, now, session } = asked;
  if (removedAt !== null) {
    return html`<p>It serves no traffic and isn’t checked any more. Its last state is shown below.</p>`;
  }
  const { checks, certificate, summary } = domain;
  const verify = html`<p class="actions"><a class="btn" href="${link(`${watchedPath(id)}/verify`)}">Re-verify</a></p>`;
  return html`<section class="card task" data-tone="${summary.tone}" aria-labelledby="status"><header class="task-head"><h2 id="status">${summary.headline}</h2><p>${summary.text}</p></header>
<div class="card-body">${facts([
    summary.actor === null ? null : ['Who acts', operatorActors[summary.actor]],
    ['Checks', String(checks.attempts)],
    checks.lastCheckedAt === null ? null : ['Last check', bothTimes(checks.lastCheckedAt, now)],
    checks.windowEndsAt === null ? null : ['Window ends', bothTimes(checks.windowEndsAt, now)],
    ['Certificate', certificate.status],
    certificate.expiresAt === null ? null : ['Ends', bothTimes(certificate.expiresAt, now)],
    certificate.issuer === null ? null : ['Issuer', issuerInWords(certificate.issuer)],
  ])}
${offers(session, 'admin') ? verify : null}</div></section>`;
}

/** Only operators see that the local CA is not trusted, because only they can change that. */
function issuerInWords(issuer: string): string {
  return isLocalAuthority(issuer)
    ? `${issuer}, not trusted by browsers. Set ACME_DIRECTORY_URL for trusted certificates`
    : issuer;
}

function escalationSection(
  { link, now, session }: SignedInRequest,
  { id, escalation }: WatchedDomainView,
): Html | null {
  if (escalation === null) return null;
  const { cause, summary, nextAction, openedAt, evidence } = escalation;
  const { problem, probes, setback, quarantine, refusals } = evidence;
  const close = `${watchedPath(id)}/escalations/${escalation.id}/close`;
  return html`<h2 class="section-title">Open escalation</h2>
<section class="card task" data-tone="bad" aria-label="Open escalation"><header class="task-head"><h3>${summary}</h3><p>${nextAction}</p></header>
<div class="card-body">${facts([
    ['Cause', html`<code>${cause}</code>`],
    ['Open since', bothTimes(openedAt, now)],
    refusals === 0 ? null : ['Orders refused', String(refusals)],
    problem === null ? null : ['The authority says', `${problem.type}: ${problem.detail}`],
    setback === null ? null : ['Setback', setback.detail],
    quarantine === null ? null : ['Quarantined', quarantine.reason],
    ...probes.map(({ address, outcome, status }) => {
      const said = `${outcome}${status === null ? '' : ` (${status})`}`;
      return [`Port 80 of ${address}`, said] as const;
    }),
  ])}
${offers(session, 'admin') ? html`<p class="actions"><a class="btn" href="${link(close)}">Close it</a></p>` : null}</div></section>`;
}

type Work = WatchedDomainView['work'][number];

/** Run buttons are only shown to administrators. */
function workSection(asked: SignedInRequest, watched: WatchedDomainView): Html {
  const { link, now, session } = asked;
  const { id, queueAnswers } = watched;
  // Rows without due work and without a job are hidden.
  const shown = watched.work.filter(
    ({ dueAt, job, quarantined }) => dueAt !== null || job !== null || quarantined !== null,
  );
  const run = ({ queue, quarantined }: Work) =>
    html`<a href="${link(`${watchedPath(id)}/run?queue=${queue}`)}">${quarantined === null ? 'Run now' : 'Retry'}<span class="unseen"> ${queue}</span></a>`;
  const mayRun = (row: Work) => row.dueAt !== null && offers(session, 'admin');
  return html`<h2 class="section-title">Jobs</h2>
${queueAnswers ? null : html`<p>The queue doesn’t answer, so its jobs aren’t shown. The database knows when they are due.</p>`}
${
  shown.length === 0
    ? html`<p>No jobs.</p>`
    : table<Work>(
        'Jobs, by queue',
        [
          { heading: 'Queue', names: true, cell: ({ queue }) => html`<code>${queue}</code>` },
          {
            heading: 'Due',
            cell: ({ dueAt }) => (dueAt === null ? 'no more' : relativeTime(dueAt, now, 'to-come')),
          },
          { heading: 'Job', className: 'wide', cell: (row) => jobCell(row, now) },
          ...(offers(session, 'admin')
            ? [{ heading: 'Do', cell: (row: Work) => (mayRun(row) ? run(row) : '') }]
            : []),
        ],
        shown,
      )
}`;
}

/** Without a job, what it waits for. */
function jobCell({ job, quarantined, isSweep }: Work, now: Date): Html {
  const inQuarantine =
    quarantined &&
    html`<p>${badge('bad', 'Quarantined')} ${quarantined.reason}; next retry ${relativeTime(quarantined.until, now, 'to-come')} (${quarantined.times} ${quarantined.times === 1 ? 'time' : 'times'} so far)</p>`;
  if (job === null) {
    return html`${inQuarantine}${isSweep ? 'processed with others when due' : 'not in the queue'}`;
  }
  const { state, attempts, runAt, failedReason, log } = job;
  const wakes = runAt === null ? null : html` ${relativeTime(runAt, now, 'to-come')}`;
  return html`${inQuarantine}${stateWords[state]}${wakes} · ${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}
${failedReason === null ? null : html`<p>${failedReason}</p>`}
${log.length === 0 ? null : html`<details><summary>Its log</summary><ol class="log">${log.map((line) => html`<li>${line}</li>`)}</ol></details>`}`;
}

/** BullMQ's job states for people. */
const stateWords = {
  active: 'running',
  waiting: 'waiting for a worker',
  delayed: 'scheduled',
  completed: 'done',
  failed: 'failed',
  unknown: 'in between',
} as const satisfies Readonly<Record<NonNullable<Work['job']>['state'], string>>;

function findings({ domain }: WatchedDomainView): Html | null {
  if (domain.findings.length === 0) return null;
  return html`<h2 class="section-title">Findings</h2>
${table(
  'Findings of the last check',
  [
    { heading: 'Finding', names: true, cell: ({ code }) => html`<code>${code}</code>` },
    {
      heading: 'Result',
      className: 'wide',
      cell: ({ summary, found }) => html`${summary} <span class="quiet">${found}</span>`,
    },
    { heading: 'Who acts', cell: ({ actor }) => operatorActors[actor] },
  ],
  domain.findings,
)}`;
}
