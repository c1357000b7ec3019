/** The elements of pages. Every text is escaped where it is put in; whatever is of type Html is put in as it is. */
import type { ErrorBody } from '../../http/pipeline/errors.ts';
import { attribute, type Html, html } from '../../net/html.ts';
import { ago, exactly } from '../browser/ago.ts';
import type { Domain, Finding } from '../client.ts';

/**
 * A part of a page that the script replaces when it has changed (src/dashboard/browser/refresh.ts). `id`: unlike any
 * other on the page. `say`: what is said to who listens when this changes; other changes are silent.
 */
export function part(
  id: string,
  content: Html,
  more: { say?: string; className?: string } = {},
): Html {
  const { say, className } = more;
  return html`<div id="${id}" data-part${attribute('class', className ?? null)}${attribute('data-say', say ?? null)}>${content}</div>`;
}

/** A text with a button that copies it. `what` completes “Copy”, for who hears it. */
export function copyable(text: string, what: string): Html {
  return html`<span class="copyable"><code>${text}</code><button type="button" class="copy" data-copy="${text}" aria-label="Copy ${what}">Copy</button></span>`;
}

/** What stands in the place of a list without items. `then`: what to do about it. */
export function empty(title: string, words: string, then: Html | null = null): Html {
  return html`<div class="empty"><p class="title">${title}</p><p>${words}</p>${then}</div>`;
}

/**
 * Content that is hidden until somebody opens it. `id`: it stays open while its part of the page is replaced
 * (src/dashboard/browser/refresh.ts).
 */
export function fold(id: string, title: string, content: Html): Html {
  return html`<details class="fold" id="${id}"><summary>${title}</summary>${content}</details>`;
}

/** `of`: what the menu is about, for who hears it. `id`: the menu stays open while its part of the page is replaced. */
export function menu(id: string, of: string, items: readonly Html[]): Html {
  return html`<details class="menu" id="${id}"><summary aria-label="More for ${of}"><span aria-hidden="true">⋯</span></summary><ul>${items.map((item) => html`<li>${item}</li>`)}</ul></details>`;
}

/**
 * What it is a time of. The script sets those of checks again as they run; one that is to come is never shown as
 * past. Null, elsewhere: it may be on either side of the present.
 */
export type TimeOf = 'last-check' | 'next-check' | 'to-come';

/** `3 s ago`, which the script keeps right; the exact time shows on request. `at`: RFC 3339. */
export function relativeTime(at: string, now: Date, of: TimeOf | null = null): Html {
  return html`<time datetime="${at}" title="${exactly(at)}"${attribute('data-of', of)}><span class="ago">${inWords(at, now, of)}</span><span class="exact">${exactly(at)}</span></time>`;
}

/** The relative time and the exact one side by side. `at`: RFC 3339. */
export function bothTimes(at: string, now: Date, of: TimeOf | null = null): Html {
  return html`<time class="both" datetime="${at}"${attribute('data-of', of)}><span class="ago">${inWords(at, now, of)}</span> <span class="exact always">${exactly(at)}</span></time>`;
}

function inWords(at: string, now: Date, of: TimeOf | null): string {
  return ago(Date.parse(at), now.getTime(), of === 'next-check' || of === 'to-come');
}

/** How grave a word is; each tone has a color and, for who does not see it, a sign of its own. */
export type Tone = 'good' | 'busy' | 'warning' | 'bad' | 'quiet';

const signs: { readonly [T in Tone]: string } = {
  good: '●',
  busy: '◐',
  warning: '▲',
  bad: '■',
  quiet: '○',
};

/** A word with its tone. */
export function badge(tone: Tone, word: string): Html {
  return html`<span class="badge ${tone}"><span aria-hidden="true">${signs[tone]}</span> ${word}</span>`;
}

const statuses = {
  pending: ['busy', 'Pending'],
  verified: ['busy', 'Verified'],
  live: ['good', 'Live'],
  drifted: ['warning', 'Drifted'],
  failed: ['bad', 'Failed'],
} as const;

/** The status of a domain (src/core/life/lifecycle.ts). */
export function statusBadge(status: keyof typeof statuses): Html {
  const [tone, word] = statuses[status];
  return badge(tone, word);
}

/** Every status of a domain, to choose from. */
export const statusChoices = Object.entries(statuses).map(([value, [, text]]) => ({ value, text }));

/** An API's refusal, above the form that it answers; null where there is none. */
export function refusal(error: ErrorBody | null): Html | null {
  if (error === null) return null;
  return html`<p class="refusal" role="alert">${reasonIn(error)}</p>`;
}

/** The message of a refusal without the place in a body, which people have not written: `domains.redirects[0]: …`. */
export function reasonIn({ message }: ErrorBody): string {
  return message.replace(/^[a-z]+(?:\.[a-z]+|\[\d+\])+: /, '');
}

/** Something that was done, marked as a status for screen readers. */
export function notice(words: string): Html {
  return html`<p class="notice" role="status">${words}</p>`;
}

/** A domain's status in words, and what happens next with its time; no time where none is known. */
export function summaryText({ summary, checks }: Domain, now: Date): Html {
  const { now: stands, next, nextAt } = summary;
  const of = nextAt === checks.nextCheckAt ? 'next-check' : 'to-come';
  const then = nextAt === null ? next : html`${next} ${relativeTime(nextAt, now, of)}.`;
  return html`<span class="now">${stands}</span> <span class="next">${then}</span>`;
}

/** What is said when a domain's status changes: without any time, since times change all the while. */
export function spokenSummary({ hostname, status, summary }: Domain): string {
  return `${hostname}: ${status}. ${summary.now}`;
}

const actors: { readonly [A in Finding['actor']]: string } = {
  customer: 'You',
  dns_provider: 'Your DNS provider',
  platform: 'We do; there is nothing for you to do',
};

/** Who has to act, to be read by the customer: `actor` as the API has it, after `term` and a colon. */
export function whoActs(term: string, actor: Finding['actor']): Html {
  return html`<p class="who"><span class="quiet">${term}:</span> ${actors[actor]}</p>`;
}

/** A field of a form. `name` is its id on the page, too, so no two on a page share one. */
export type Field = {
  readonly name: string;
  readonly label: string;
  /** What it holds at first; empty where nothing is said. */
  readonly value?: string;
  readonly hint?: Html | string;
  /** Why what was typed was refused; null: it was not. A text field with one has the focus. */
  readonly problem?: string | null;
  /** Of a text field: otherwise the browser does not send the form while it is empty. */
  readonly isOptional?: true;
  readonly placeholder?: string;
  /** Of a browser's keyboard: `url` for host names. */
  readonly inputmode?: 'url';
};

/** A field of one line. Browsers do not complete what is typed, and with `inputmode` do not correct it either. */
export function textField(field: Field): Html {
  const { name, label, value = '', problem = null, placeholder, inputmode } = field;
  const plain = html` autocomplete="off" autocapitalize="none" spellcheck="false"`;
  return html`<div class="field">
<label for="${name}">${label}</label>
<input id="${name}" name="${name}" value="${value}"${attribute('placeholder', placeholder ?? null)}${attribute('inputmode', inputmode ?? null)}${attribute('required', field.isOptional !== true)}${inputmode === undefined ? attribute('autocomplete', 'off') : plain}${describedBy(field)}${attribute('autofocus', problem !== null)}>
${below(field)}
</div>`;
}

/** One of several values: what is sent, and what people read. */
export type Choice = { readonly value: string; readonly text: string };

/** A list to choose from. The first choice is taken where none has the field's value. */
export function choiceField(field: Field, choices: readonly Choice[]): Html {
  const { name, label, value } = field;
  return html`<div class="field">
<label for="${name}">${label}</label>
<select id="${name}" name="${name}"${describedBy(field)}>
${choices.map((choice) => html`<option value="${choice.value}"${attribute('selected', choice.value === value)}>${choice.text}</option>`)}
</select>
${below(field)}
</div>`;
}

function describedBy({ name, hint, problem = null }: Field): Html {
  const ids = [
    ...(problem === null ? [] : [`${name}-problem`]),
    ...(hint === undefined ? [] : [`${name}-hint`]),
  ];
  return html`${attribute('aria-invalid', problem === null ? null : 'true')}${attribute('aria-describedby', ids.length === 0 ? null : ids.join(' '))}`;
}

function below({ name, hint, problem = null }: Field): Html {
  return html`${problem === null ? null : html`<p class="refusal" id="${name}-problem" role="alert">${problem}</p>`}${hint === undefined ? null : html`<p class="hint" id="${name}-hint">${hint}</p>`}`;
}
