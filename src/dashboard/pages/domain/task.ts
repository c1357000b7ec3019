/** The page's main card: what to do, where, and its progress. */
import { type Html, html } from '../../../net/html.ts';
import type { Domain } from '../../client.ts';
import { domainPath, projectPath } from '../../client.ts';
import { form, type Link, type SignedInRequest } from '../../layout.ts';
import { breakable, fold } from '../../parts/elements.ts';
import { icon } from '../../parts/icons.ts';
import { relativeTime } from '../../parts/times.ts';
import { offers } from '../../session.ts';
import { adviceSection, evidence } from './advice.ts';
import { changeList } from './changes.ts';

export function taskCard(asked: SignedInRequest, domain: Domain): Html {
  const { summary } = domain;
  return html`<section class="card task" data-tone="${summary.tone}" aria-labelledby="task-title">
<header class="task-head"><h2 id="task-title">${summary.headline}</h2>
<p>${summary.text}</p>
<div class="meta">${path(domain)}${nextCheck(asked, domain)}</div></header>
${changeList(domain)}
${adviceSection(domain)}
${foot(asked, domain)}
${howTo(domain)}${evidence(domain)}</section>`;
}

/** `partner`: `www` beside its apex, or the other way round, which is not set up yet. */
export function partnerCard(asked: SignedInRequest, partner: Domain): Html {
  const { link } = asked;
  const { summary, unicodeHostname, projectId, hostname } = partner;
  return html`<section class="card task" data-tone="${summary.tone}" aria-labelledby="partner-title">
<header class="task-head"><h2 id="partner-title">Also for <a href="${link(domainPath(projectId, hostname))}">${breakable(unicodeHostname)}</a></h2>
<p>${summary.headline}</p></header>
${changeList(partner)}
${adviceSection(partner)}
${foot(asked, partner)}</section>`;
}

const steps = { dns: 'DNS', certificate: 'Certificate', deploy: 'Deploy' } as const;

/** The state of each step, for screen readers. */
const words = {
  ok: 'works',
  wait: 'in progress',
  warn: 'needs action',
  bad: 'fails',
  idle: 'not yet',
} as const;

function path({ summary }: Domain): Html {
  return html`<ol class="path" aria-label="What has to work">${summary.path.map(
    ({ step, tone }) =>
      html`<li data-tone="${tone}">${icon(tone)}${steps[step]}<span class="unseen"> ${words[tone]}</span></li>`,
  )}</ol>`;
}

function nextCheck({ link, now, session }: SignedInRequest, domain: Domain): Html | null {
  const { projectId, hostname, summary, checks, status } = domain;
  if (status === 'failed' && summary.nextAt === null) return null; // its button starts again
  const { next, nextAt } = summary;
  const isCheck = nextAt !== null && nextAt === checks.nextCheckAt;
  const when =
    nextAt === null
      ? next
      : html`${isCheck ? 'Next check' : 'Next attempt'} ${relativeTime(nextAt, now, isCheck ? 'next-check' : 'to-come')}`;
  if (!offers(session, 'domains:write')) return html`<p class="next"><span>${when}</span></p>`;
  return form(
    link(`${domainPath(projectId, hostname)}/verify`),
    session,
    html`<span>${when}</span><button id="verify" class="btn plain sm">Check now</button>`,
    'next',
  );
}

function foot(asked: SignedInRequest, domain: Domain): Html | null {
  const { link, session } = asked;
  const { projectId, hostname, summary } = domain;
  const page = domainPath(projectId, hostname);
  const file = zoneFileLink(link, domain);
  switch (summary.action) {
    case 'open_dns':
      return footOf([providerLink(domain), file]);
    case 'start_again':
      return html`<div class="task-foot">${form(link(`${page}/verify`), session, html`<button class="btn primary">Start again</button>`)}${domain.changes.some(isToEnter(domain)) ? providerLink(domain, 'btn') : null}${file}</div>`;
    case 'change_plan':
      return html`<div class="task-foot">${form(link(`${projectPath(projectId)}/plan`), session, html`<input type="hidden" name="plan" value="pro"><button class="btn primary">Switch to Pro</button>`, null, 'projects:write')}</div>`;
    default:
      return null;
  }
}

/** Null without content. */
function footOf(parts: readonly (Html | null)[]): Html | null {
  const shown = parts.filter((one) => one !== null);
  return shown.length === 0 ? null : html`<div class="task-foot">${shown}</div>`;
}

/** Before the first check, nothing is known to be there. */
function isToEnter({ checks }: Domain) {
  const isNew = checks.lastCheckedAt === null;
  return ({ verb, state }: Domain['changes'][number]) =>
    verb !== 'keep' && (state === 'to_do' || (isNew && state === 'unknown'));
}

/** Null if the file would have comments only: a zone file has no ALIAS. */
function zoneFileLink(link: Link, domain: Domain): Html | null {
  const { projectId, hostname, changes } = domain;
  const isLine = ({ verb, type, name }: Domain['changes'][number]) =>
    verb !== 'delete' &&
    type !== 'ALIAS' &&
    type !== 'ANAME' &&
    !(type === 'CNAME' && (name === '@' || name === ''));
  if (!changes.filter(isToEnter(domain)).some(isLine)) return null;
  const path = `${domainPath(projectId, hostname)}/zone-file`;
  return html`<a class="btn" href="${link(path)}" download>Download zone file</a>`;
}

/** “Open DNS” only if the link leads to the records. */
function providerLink({ provider }: Domain, className = 'btn primary'): Html | null {
  const url = provider?.dnsUrl ?? provider?.siteUrl ?? null;
  if (provider === null || url === null) return null;
  const words = provider.dnsUrl === null ? `Open ${provider.name}` : `Open DNS at ${provider.name}`;
  return html`<a class="${className}" href="${url}" target="_blank" rel="noopener noreferrer">${words} ${icon('out')}</a>`;
}

/** Where and how, as steps. Null if nothing is left to enter. */
function howTo(domain: Domain): Html | null {
  const { changes, provider, zone, hostname, summary } = domain;
  const open = changes.filter(({ verb, state }) => verb !== 'keep' && state !== 'done');
  const isWaiting = open.length > 0 && open.every((one) => one.state === 'spreading');
  // Without an action, someone else has to act, or the customer at another place.
  const isElsewhere = summary.badge === 'Action needed' && summary.action === null;
  if (isElsewhere || !(isWaiting || open.some(isToEnter(domain)))) return null;
  const where =
    provider?.where ??
    `Sign in where the DNS of ${zone} is kept, usually where you bought the domain. Look for “DNS settings”, “DNS records” or “zone editor”.`;
  const lines = isWaiting
    ? [
        where,
        `Check that the records of ${hostname} are saved.`,
        'If they are, ask the provider why some of its name servers are behind.',
      ]
    : [where, ...open.map(inSteps), 'Save. You can close this page: we keep checking.'];
  const title = isWaiting
    ? 'If it takes longer than an hour'
    : `How to do it${provider === null ? '' : ` at ${provider.name}`}`;
  return fold(
    'how',
    title,
    html`<ol class="how">${lines.map((line) => html`<li>${line}</li>`)}</ol>`,
  );
}

function inSteps({ verb, type, name, was, note }: Domain['changes'][number]): string {
  const called = name === '' ? 'with an empty name' : `“${name}”`;
  if (verb === 'delete') return `Delete the ${type} record ${called}.`;
  if (verb === 'change' && was === undefined)
    return `Edit the ${type} record ${called}. ${note ?? ''}`;
  if (verb === 'change') return `Edit the ${type} record ${called}, and paste the new value.`;
  return `Add ${/^A/.test(type) ? 'an' : 'a'} ${type} record. Paste the name and the value; leave the TTL as it is.`;
}
