/** The column beside the card: certificate, deploy, name servers. */
import { dateInWords } from '../../../core/life/summary/dates.ts';
import type { Tone } from '../../../core/life/summary/summary-types.ts';
import { type Html, html } from '../../../net/html.ts';
import type { Domain, ProjectView } from '../../client.ts';
import { fold } from '../../parts/elements.ts';
import { icon } from '../../parts/icons.ts';
import { facts } from '../../parts/table.ts';
import { bothTimes, relativeTime } from '../../parts/times.ts';
import { shortNames } from './changes.ts';

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

/** Browser states without a finding of their own. */
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

function stateOf({ status, expiresAt }: Domain['certificate'], step: Tone): string {
  if (expiresAt !== null) return 'Valid';
  if (step === 'bad') return 'Expired';
  if (step === 'warn') return 'Not allowed yet';
  return { none: 'After DNS', ordering: 'Ordered', issued: 'Issued', failed: 'Refused' }[status];
}

function validity(
  { expiresAt, issuer, renewal }: Domain['certificate'],
  step: Tone,
  now: Date,
): Html {
  if (expiresAt === null) {
    const when = step === 'warn' ? 'the CAA records allow it' : 'the DNS is right';
    return html`<p class="quiet">Issued automatically once ${when}.</p>`;
  }
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

const verdictTones = { right: 'ok', wrong: 'warn', unknown: 'idle' } as const;

function serversFact({ observation, checks, provider, summary }: Domain, now: Date): Html {
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
${observation === null ? null : serverList(observation)}
<p class="quiet">${last} · ${count}</p>
${windowEndsAt === null ? null : html`<p class="quiet">Checked until ${dateInWords(new Date(windowEndsAt), now)}</p>`}
${observation === null ? null : fold('shown-by-servers', 'What each one shows', serverFacts(observation, now))}</section>`;
}

type Seen = NonNullable<Domain['observation']>;

/** One line per name: its worst address. */
function serverList({ servers }: Seen): Html {
  const names = [...new Set(servers.map(({ server }) => server))];
  const short = shortNames(names);
  return html`<ul class="servers">${names.map((name, at) => {
    const verdicts = servers.flatMap((one) => (one.server === name ? one.verdict : []));
    const verdict = (['wrong', 'unknown', 'right'] as const).find((one) => verdicts.includes(one));
    const tone = verdictTones[verdict ?? 'unknown'];
    return html`<li data-tone="${tone}">${icon(tone)}<span class="clip" title="${name}">${name}</span><span class="quiet">${words[tone]}</span><span class="unseen">${short[at] ?? name}</span></li>`;
  })}</ul>`;
}

const words = { ok: 'right', warn: 'not yet', idle: 'no answer' } as const;

function serverFacts({ servers, at }: Seen, now: Date): Html {
  return html`${facts([
    ...servers.map(({ server, address, shows }) => {
      const place = address === null || address === server ? server : `${server} (${address})`;
      return [place, html`<code>${shows}</code>`] as const;
    }),
    ['Seen', bothTimes(at, now)],
  ])}`;
}
