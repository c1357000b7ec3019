import { type Html, html } from '../../../net/html.ts';
import type { Domain, FindingView } from '../../client.ts';
import { badge, bothTimes, fold, relativeTime, whoActs } from '../../parts/elements.ts';
import { facts, table } from '../../parts/table.ts';

const severities = {
  blocks: badge('bad', 'Blocks'),
  warns: badge('warning', 'Warns'),
  informs: badge('quiet', 'Informs'),
} as const;

/** Omits what the status panel already says (src/core/life/summary.ts). */
export function findingsSection({ findings, summary }: Domain): Html | null {
  const [headline, ...others] = findings;
  if (headline === undefined) return null;
  const isSaid = summary.now.includes(headline.summary);
  const said = { summary: isSaid, actor: isSaid && summary.actor !== null };
  return html`<h2>${titleOf(findings)}</h2>
${findingCard(headline, said)}
${others.map((finding) => findingCard(finding, { summary: false, actor: false }))}`;
}

function titleOf(findings: Domain['findings']): string {
  const blocking = findings.filter(({ severity }) => severity === 'blocks');
  if (blocking.length === 0) return 'Good to know';
  return blocking.some(({ actor }) => actor === 'customer') ? 'What to change' : 'What blocks it';
}

function findingCard(
  finding: FindingView,
  said: { readonly summary: boolean; readonly actor: boolean },
): Html {
  const { code, severity, summary, expected, found, action, actor, hints } = finding;
  const head = html`<div class="finding-head"><h3>${summary}</h3>${severities[severity]}</div>`;
  return html`<article class="finding ${severity}">${said.summary ? null : head}
<p class="action">${action}</p>
${hints.length === 0 ? null : html`<ul class="hints">${hints.map(({ text }) => html`<li>${text}</li>`)}</ul>`}
${said.actor ? null : whoActs('Who acts', actor)}
${fold(
  `evidence-${code}`,
  'Expected and found',
  facts([
    ['Expected', expected],
    ['Found', found],
  ]),
)}</article>`;
}

const verdicts = {
  right: badge('good', 'Right'),
  wrong: badge('bad', 'Wrong'),
  unknown: badge('quiet', 'Unknown'),
} as const;

/** Without an observation, only the last check and the number of attempts. */
export function serversSection({ observation, checks }: Domain, now: Date): Html {
  const { attempts, lastCheckedAt, nextCheckAt, windowEndsAt } = checks;
  // Always present, because the script uses it (src/dashboard/browser/live.ts).
  const count = html`<span data-attempts="${attempts}">${attempts}</span>`;
  const last =
    lastCheckedAt === null
      ? 'No name server has been queried yet'
      : html`Last check ${relativeTime(lastCheckedAt, now, 'last-check')}`;
  const timing = facts([
    // Later checks only confirmed that nothing changed.
    observation === null ? null : ['Seen', bothTimes(observation.at, now)],
    nextCheckAt === null ? null : ['Next check', bothTimes(nextCheckAt, now, 'next-check')],
    windowEndsAt === null ? null : ['Checked until', bothTimes(windowEndsAt, now, 'to-come')],
  ]);
  return html`<h2>Name servers</h2>
<p>${last}; attempts: ${count}</p>
${
  observation === null
    ? null
    : fold(
        'shown-by-servers',
        titleOfServers(observation),
        html`${serversTable(observation)}${timing}`,
      )
}`;
}

type Seen = NonNullable<Domain['observation']>;

function titleOfServers({ servers, view }: Seen): string {
  const right = servers.filter(({ verdict }) => verdict === 'right').length;
  const what = view === 'authoritative' ? 'name servers' : 'resolvers';
  return `${right} of ${servers.length} ${what} correct`;
}

function serversTable({ servers, view }: Seen): Html {
  const heading = view === 'authoritative' ? 'Name server' : 'Resolver';
  return table(
    'What each name server shows',
    [
      { heading, cell: ({ server, address }) => nameOf(server, address), names: true },
      { heading: 'Shows', cell: ({ shows }) => html`<code>${shows}</code>`, className: 'wide' },
      { heading: 'That is', cell: ({ verdict }) => verdicts[verdict] },
    ],
    servers,
  );
}

function nameOf(server: string, address: string | null): Html {
  return html`${server}${address === null || address === server ? null : html` <span class="quiet">${address}</span>`}`;
}
