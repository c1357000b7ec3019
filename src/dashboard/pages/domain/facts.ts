/** The column beside the card: certificate, deploy, name servers. */
import { dateInWords } from '../../../core/life/summary/dates.ts';
import type { Tone } from '../../../core/life/summary/summary-types.ts';
import { type Html, html } from '../../../net/html.ts';
import type { Domain, ProjectView } from '../../client.ts';
import { fold } from '../../parts/elements.ts';
import { icon } from '../../parts/icons.ts';
import { facts } from '../../parts/table.ts';
import { bothTimes, relativeTime } from '../../parts/times.ts';

export function factsColumn(domain: Domain, project: ProjectView, now: Date): Html {
  return html`<aside class="card" aria-label="Facts">
${certificateFact(domain, now)}
${deployFact(project)}
${serversFact(domain, now)}</aside>`;
}

function fact(tone: Tone, title: string, state: Html | string | null, content: Html): Html {
  const is = state === null ? null : html`<span class="is">${icon(tone)}${state}</span>`;
  return html`<section class="fact" data-tone="${tone}"><div class="fact-head"><h3>${title}</h3>${is}</div>
${content}</section>`;
}

/** Browser states without a finding. */
const browserProblems: ReadonlySet<string> = new Set(['other_certificate', 'not_shown']);

function certificateFact({ certificate, escalation, summary }: Domain, now: Date): Html {
  const { issuer, issuedAt, problem, browser, nextAttemptAt } = certificate;
  const step = summary.path.find((one) => one.step === 'certificate')?.tone ?? 'idle';
  const attempt =
    nextAttemptAt === null
      ? null
      : html`<p class="quiet">Next attempt ${relativeTime(nextAttemptAt, now, 'to-come')}</p>`;
  return fact(
    step,
    'Certificate',
    stateOf(certificate, step),
    html`${validity(certificate, step, now)}
${problem === null ? null : html`<p>${problem.summary}</p><p class="quiet">${problem.action}</p>`}
${attempt}
${escalation === null ? null : html`<p>An operator was notified ${relativeTime(escalation.openedAt, now)}: ${escalation.summary}</p><p class="quiet">${escalation.nextAction}</p>`}
${browserProblems.has(browser.state) ? html`<p>${browser.summary}</p>` : null}
${fold(
  'more-of-certificate',
  'Details',
  facts([
    issuer === null ? null : ['Issuer', issuer],
    issuedAt === null ? null : ['Valid from', bothTimes(issuedAt, now)],
    problem === null ? null : ['The CA said', `${problem.detail} (${problem.type})`],
    browserProblems.has(browser.state) ? null : ['In a browser', browser.summary],
  ]),
)}`,
  );
}

function stateOf({ expiresAt }: Domain['certificate'], step: Tone): string {
  if (expiresAt !== null) return 'Valid';
  return { ok: 'Valid', wait: 'Ordered', warn: 'Not allowed yet', bad: 'Expired', idle: 'Not yet' }[
    step
  ];
}

const before = {
  ok: '',
  wait: 'Usually takes about 2 minutes.',
  warn: 'Issued automatically once the CAA records allow it.',
  bad: 'It has expired.',
  idle: 'Issued automatically once everything else is done.',
} as const;

function validity(
  { expiresAt, issuer, renewal }: Domain['certificate'],
  step: Tone,
  now: Date,
): Html {
  if (expiresAt === null) return html`<p class="quiet">${before[step]}</p>`;
  const until = `expires ${dateInWords(new Date(expiresAt), now)}`;
  const renews =
    renewal === null
      ? null
      : html`<p>Renews around ${dateInWords(new Date(renewal.plannedAt), now)}</p>`;
  return html`${renews}<p class="quiet">${issuer === null ? until : `${issuer} · ${until}`}</p>`;
}

/** Its health is not measured. */
function deployFact({ deploy }: ProjectView): Html | null {
  if (deploy === null) return null;
  return fact('idle', 'Deploy', null, html`<p><code>${deploy.upstream}</code></p>`);
}

function serversFact(domain: Domain, now: Date): Html {
  const { observation, checks, provider, summary } = domain;
  const { attempts, lastCheckedAt, windowEndsAt } = checks;
  // Always present, because the script uses it (src/dashboard/browser/live.ts).
  const count = html`<span data-attempts="${attempts}">${attempts}</span> ${attempts === 1 ? 'check' : 'checks'}`;
  const last =
    lastCheckedAt === null
      ? 'Not queried yet'
      : html`Checked ${relativeTime(lastCheckedAt, now, 'last-check')}`;
  const dns = summary.path.find((one) => one.step === 'dns')?.tone ?? 'idle';
  const title = observation?.view === 'recursive' ? 'Resolvers' : 'Name servers';
  return html`<section class="fact" data-tone="${dns}"><div class="fact-head"><h3>${title}</h3><span class="quiet">${provider?.name ?? null}</span></div>
${observation === null ? null : serverList(domain)}
<p class="quiet">${last} · ${count}</p>
${windowEndsAt === null ? null : html`<p class="quiet">Checked until ${dateInWords(new Date(windowEndsAt), now)}</p>`}
${observation === null ? null : fold('shown-by-servers', 'What each one shows', serverFacts(observation, now))}</section>`;
}

type Seen = NonNullable<Domain['observation']>;

type ServerProgress = 'done' | 'to_do' | 'unknown';
const stateTones = { done: 'ok', to_do: 'warn', unknown: 'idle' } as const;

/** One line per name, as the rows of the records say. */
function serverList({ observation, changes, status }: Domain): Html {
  const names = [...new Set((observation?.servers ?? []).map(({ server }) => server))];
  const words = {
    done: 'right',
    to_do: status === 'pending' ? 'not yet' : 'wrong',
    unknown: 'unknown',
  };
  return html`<ul class="servers">${names.map((name) => {
    const state = stateAt(name, changes);
    const tone = stateTones[state];
    return html`<li data-tone="${tone}">${icon(tone)}<span class="clip" title="${name}">${name}</span><span class="quiet">${words[state]}</span></li>`;
  })}</ul>`;
}

/** Of the records that decide where the name points. */
function stateAt(name: string, changes: Domain['changes']): ServerProgress {
  const pointing = changes.filter(({ type }) => !besideRecord.has(type));
  const states = pointing.flatMap(({ servers }) =>
    servers.flatMap((one) => (one.name === name ? one.state : [])),
  );
  if (states.includes('to_do')) return 'to_do';
  return states.includes('done') ? 'done' : 'unknown';
}

const besideRecord: ReadonlySet<string> = new Set(['CAA', 'TXT', 'HTTPS', 'MX']);

function serverFacts({ servers, at }: Seen, now: Date): Html {
  return html`${facts([
    ...servers.map(({ server, address, shows }) => {
      const place = address === null || address === server ? server : `${server} (${address})`;
      return [place, html`<code>${shows}</code>`] as const;
    }),
    ['Seen', bothTimes(at, now)],
  ])}`;
}
