/** The page's main card: what to do, where, and its progress. */

import type { ChangeState } from '../../../core/diagnosis/changes/change.ts';
import { progressInWords } from '../../../core/diagnosis/changes/progress-words.ts';
import type { Tone } from '../../../core/life/summary/summary-types.ts';
import { type Html, html } from '../../../net/html.ts';
import { type Domain, domainPath, type FindingView, projectPath } from '../../client.ts';
import { form, type Link, type SignedInRequest } from '../../layout.ts';
import { breakable, copyable, fold, relativeTime } from '../../parts/elements.ts';
import { icon } from '../../parts/icons.ts';
import { facts } from '../../parts/table.ts';
import { offers } from '../../session.ts';

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

// Findings without a row in the list of changes.

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
  ownership_unproven: 'proof',
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
function adviceSection(domain: Domain): Html | null {
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
function evidence({ findings }: Domain): Html | null {
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

// What to do at the DNS provider: a row per record, with the progress of each name server.

type Change = Domain['changes'][number];
type View = 'authoritative' | 'recursive';

function changeList({ changes, observation }: Domain): Html {
  const view = observation?.view ?? 'authoritative';
  return html`<div class="labels" aria-hidden="true"><div><span>Type</span><span>Name</span><span>Value</span></div></div>
<ol class="changes">${changes.map((change) => row(change, view))}</ol>`;
}

const tones: { readonly [S in ChangeState]: Tone } = {
  to_do: 'warn',
  spreading: 'wait',
  done: 'ok',
  unknown: 'idle',
};

/** Longer names get a separate line. */
const NAME_MAX = 24;

function row(change: Change, view: View): Html {
  const { verb, type, name, value, state, note } = change;
  const tone = verb === 'keep' ? 'idle' : tones[state];
  const isLong = name.length > NAME_MAX;
  const isMade = state === 'done' || state === 'spreading';
  return html`<li class="change${isLong ? ' long' : ''}" data-key="${`${type} ${name} ${value}`}" data-tone="${tone}">
<p class="sign${verb === 'delete' ? ' away' : ''}">${isMade ? made[verb] : signs[verb]}</p>
<dl><div><dt>Type</dt><dd><code>${type}</code></dd></div>
<div><dt>Name</dt><dd>${nameOf(change)}</dd></div>
<div class="value"><dt>Value</dt>${valueCell(change)}</div></dl>
${seen(change, view)}
${note === undefined ? null : html`<p class="note">${note}</p>`}</li>`;
}

const signs = { add: 'Add', change: 'Change', delete: 'Delete', keep: 'Keep' } as const;
const made = { add: 'Added', change: 'Changed', delete: 'Deleted', keep: 'Keep' } as const;

/** Other records are only shown. */
function isEntered({ verb, type }: Pick<Change, 'verb' | 'type'>): boolean {
  return verb !== 'delete' && (verb !== 'keep' || type !== 'CAA');
}

/** Only what is entered can be copied. */
function nameOf({ verb, type, name }: Change): Html {
  if (name === '') return html`<span class="quiet">leave empty</span>`;
  return isEntered({ verb, type }) ? copyable(name, 'name') : html`<code>${breakable(name)}</code>`;
}

function valueCell({ verb, type, value, was }: Change): Html {
  if (!isEntered({ verb, type })) return html`<dd><code>${breakable(value)}</code></dd>`;
  if (was === undefined) return html`<dd>${copyable(value, 'value')}</dd>`;
  return html`<dd class="swap"><s><span class="unseen">Now: </span><code>${breakable(was)}</code></s><span class="unseen">Change to: </span>${copyable(value, 'value')}</dd>`;
}

/** The servers themselves only while they differ or lack the change. */
function seen({ verb, state, was, servers }: Change, view: View): Html {
  const isDone = state === 'done';
  const isComplete = isDone && servers.every((one) => one.state === 'done');
  const shown = isComplete || servers.length < 2 ? [] : servers;
  const names = shortNames(servers.map(({ name }) => name));
  const words = progressInWords({ verb, state, was, servers }, view);
  return html`<ul class="seen"><li class="says">${isDone && verb !== 'keep' ? icon('ok') : null}${words}</li>
${shown.map((server, at) => serverMark(server, names[at] ?? server.name, state))}</ul>`;
}

function serverMark(
  { state, shows, name }: Change['servers'][number],
  short: string,
  ofAll: ChangeState,
): Html {
  // While one server has the change, those without it are the ones to wait for.
  const tone = state === 'to_do' ? (ofAll === 'spreading' ? 'wait' : 'idle') : tones[state];
  const lacks = /^no(thing| )/.test(shows) ? ' has nothing yet' : ` still shows ${shows}`;
  const still = ofAll === 'spreading' && state === 'to_do' ? lacks : '';
  const words = state === 'unknown' ? ' didn’t answer' : still;
  return html`<li data-tone="${tone}" title="${name}">${icon(tone)}${short}${words}</li>`;
}

/** `ns51` for `ns51.domaincontrol.com`, if the first labels differ. */
function shortNames(names: readonly string[]): readonly string[] {
  const first = names.map((name) => name.split('.')[0] ?? name);
  const isClear = new Set(first).size === names.length && first.every((one) => !/^\d+$/.test(one));
  return isClear ? first : names;
}
