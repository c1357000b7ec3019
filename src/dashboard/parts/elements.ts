/** Text is escaped; values of type Html are not. */
import type { Tone } from '../../core/life/summary/summary-types.ts';
import type { ErrorBody } from '../../http/pipeline/errors.ts';
import { attribute, type Html, html, joined } from '../../net/html.ts';
import { ago, exactly } from '../browser/ago.ts';
import type { Domain, ProjectView } from '../client.ts';
import type { Link } from '../layout.ts';
import { icon } from './icons.ts';

/**
 * The script updates changed parts (src/dashboard/browser/refresh.ts). `id`: unique on the page.
 * `say`: announced to screen readers when it changes; other changes are silent.
 */
export function part(
  id: string,
  content: Html,
  more: { say?: string; className?: string } = {},
): Html {
  const { say, className } = more;
  return html`<div id="${id}" data-part${attribute('class', className ?? null)}${attribute('data-say', say ?? null)}>${content}</div>`;
}

/** `what` completes “Copy” for screen readers. */
export function copyable(text: string, what: string): Html {
  return html`<code>${breakable(text)}</code><button type="button" class="copy" data-copy="${text}" aria-label="Copy ${what}">Copy</button>`;
}

/** Wraps after dots. */
export function breakable(name: string): Html {
  const labels = name.split('.');
  return joined(
    labels.map((label, at) => (at === labels.length - 1 ? label : `${label}.`)),
    { html: '<wbr>' },
  );
}

/** For an empty list. `then`: what to do next. */
export function empty(title: string, words: string, then: Html | null = null): Html {
  return html`<section class="card empty"><h2>${title}</h2><p>${words}</p>${then}</section>`;
}

/** `id` keeps it open while its part of the page is updated (src/dashboard/browser/refresh.ts). */
export function fold(id: string, title: string, content: Html): Html {
  return html`<details class="fold" id="${id}"><summary>${title}</summary><div>${content}</div></details>`;
}

/** Null without items. `of`: the menu's subject, for screen readers. `id`: as in `fold`. */
export function menu(id: string, of: string, items: readonly Html[]): Html | null {
  if (items.length === 0) return null;
  return html`<details class="menu" id="${id}"><summary aria-label="More for ${of}">${icon('dots')}</summary><ul>${items.map((item) => html`<li>${item}</li>`)}</ul></details>`;
}

export function badge(tone: Tone, word: string): Html {
  return html`<span class="badge" data-tone="${tone}">${icon(tone)}${word}</span>`;
}

/** Before the name in a list, where the tone's icon stands alone. */
export function domainBadge({ summary }: Pick<Domain, 'summary'>): Html {
  return badge(summary.tone, summary.badge);
}

/** Null if the form was accepted. */
export function refusal(error: ErrorBody | null): Html | null {
  if (error === null) return null;
  return html`<div class="banner refusal" data-tone="bad" role="alert">${icon('bad')}<p>${reasonIn(error)}</p></div>`;
}

/** The message without its position in the body: `domains.redirects[0]: …`. */
function reasonIn({ message }: Pick<ErrorBody, 'message'>): string {
  return message.replace(/^[a-z]+(?:\.[a-z]+|\[\d+\])+: /, '');
}

export function notice(words: string, tone: Tone = 'ok'): Html {
  return html`<div class="banner notice" data-tone="${tone}" role="status">${icon(tone)}<p>${words}</p></div>`;
}

/** Announced when a domain's state changes. Without times, which change constantly. */
export function spokenSummary({ hostname, summary }: Domain): string {
  return `${hostname}: ${summary.badge}. ${summary.now}`;
}

/** Decorative: the numbers are beside it. `of` 0: empty. */
export function bar(part: number, of: number, tone: string): Html {
  const width = of === 0 ? 0 : (part / of) * 100;
  return html`<svg class="meter" data-tone="${tone}" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true"><rect class="track" width="100" height="6"/><rect class="fill" width="${width}" height="6"/></svg>`;
}

/** A card with a heading. `id`: problems link to it. `more`: beside the heading. */
export function panel(id: string, title: string, content: Html, more: Html | null = null): Html {
  return html`<section class="card panel" id="${id}" aria-labelledby="${id}-title"><div class="card-head"><h2 id="${id}-title">${title}</h2>${more}</div>
${content}</section>`;
}

type Tab = 'domains' | 'settings';

const tabs: readonly (readonly [Tab, string])[] = [
  ['domains', 'Domains'],
  ['settings', 'Redirects'],
];

export function projectHead({ id, name, slug, plan }: ProjectView, current: Tab, link: Link): Html {
  return html`<header class="head"><div class="head-title"><h1>${name}</h1><p class="sub">${slug} · ${plan} plan</p></div></header>
<nav class="tabs" aria-label="Project">
${tabs.map(([tab, text]) => html`<a href="${link(`/projects/${id}/${tab}`)}"${attribute('aria-current', tab === current ? 'page' : null)}>${text}</a>`)}
</nav>`;
}

/** The script updates check times; a `to-come` time is never shown as past. */
type TimeOf = 'last-check' | 'next-check' | 'to-come';

/** `3 s ago`, updated by the script, with the exact time on demand. `at`: RFC 3339. */
export function relativeTime(at: string, now: Date, of: TimeOf | null = null): Html {
  return html`<time datetime="${at}" title="${exactly(at)}"${attribute('data-of', of)}><span class="ago">${inWords(at, now, of)}</span><span class="exact">${exactly(at)}</span></time>`;
}

export function bothTimes(at: string, now: Date, of: TimeOf | null = null): Html {
  return html`<time class="both" datetime="${at}"${attribute('data-of', of)}><span class="ago">${inWords(at, now, of)}</span> <span class="exact always">${exactly(at)}</span></time>`;
}

function inWords(at: string, now: Date, of: TimeOf | null): string {
  return ago(Date.parse(at), now.getTime(), of === 'next-check' || of === 'to-come');
}
