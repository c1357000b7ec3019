/** Text is escaped; values of type Html are not. */
import type { ErrorBody } from '../../http/pipeline/errors.ts';
import { attribute, type Html, html } from '../../net/html.ts';
import { ago, exactly } from '../browser/ago.ts';
import type { Domain, FindingView } from '../client.ts';

/**
 * The script replaces changed parts (src/dashboard/browser/refresh.ts). `id`: unique on the page.
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
  return html`<span class="copyable"><code>${text}</code><button type="button" class="copy" data-copy="${text}" aria-label="Copy ${what}">Copy</button></span>`;
}

/** For an empty list. `then`: what to do next. */
export function empty(title: string, words: string, then: Html | null = null): Html {
  return html`<div class="empty"><p class="title">${title}</p><p>${words}</p>${then}</div>`;
}

/** `id` keeps it open while its part of the page is replaced (src/dashboard/browser/refresh.ts). */
export function fold(id: string, title: string, content: Html): Html {
  return html`<details class="fold" id="${id}"><summary>${title}</summary>${content}</details>`;
}

/** `of`: the menu's subject, for screen readers. `id`: as in `fold`. */
export function menu(id: string, of: string, items: readonly Html[]): Html {
  return html`<details class="menu" id="${id}"><summary aria-label="More for ${of}"><span aria-hidden="true">⋯</span></summary><ul>${items.map((item) => html`<li>${item}</li>`)}</ul></details>`;
}

/** The script updates check times; a `to-come` time is never shown as past. */
export type TimeOf = 'last-check' | 'next-check' | 'to-come';

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

/** Each tone has a color and a sign. */
export type BadgeTone = 'good' | 'busy' | 'warning' | 'bad' | 'quiet';

const signs: { readonly [T in BadgeTone]: string } = {
  good: '●',
  busy: '◐',
  warning: '▲',
  bad: '■',
  quiet: '○',
};

export function badge(tone: BadgeTone, word: string): Html {
  return html`<span class="badge ${tone}"><span aria-hidden="true">${signs[tone]}</span> ${word}</span>`;
}

const statuses = {
  pending: ['busy', 'Pending'],
  verified: ['busy', 'Verified'],
  live: ['good', 'Live'],
  drifted: ['warning', 'Drifted'],
  failed: ['bad', 'Failed'],
} as const;

export function statusBadge(status: keyof typeof statuses): Html {
  const [tone, word] = statuses[status];
  return badge(tone, word);
}

/** Null if the form was accepted. */
export function refusal(error: ErrorBody | null): Html | null {
  if (error === null) return null;
  return html`<p class="refusal" role="alert">${reasonIn(error)}</p>`;
}

/** The message without its position in the body: `domains.redirects[0]: …`. */
function reasonIn({ message }: ErrorBody): string {
  return message.replace(/^[a-z]+(?:\.[a-z]+|\[\d+\])+: /, '');
}

export function notice(words: string): Html {
  return html`<p class="notice" role="status">${words}</p>`;
}

/** What happens next has its time if known. */
export function summaryText({ summary, checks }: Domain, now: Date): Html {
  const { now: stands, next, nextAt } = summary;
  const of = nextAt === checks.nextCheckAt ? 'next-check' : 'to-come';
  const then = nextAt === null ? next : html`${next} ${relativeTime(nextAt, now, of)}.`;
  return html`<span class="now">${stands}</span> <span class="next">${then}</span>`;
}

/** Announced when a domain's status changes. Without times, which change constantly. */
export function spokenSummary({ hostname, status, summary }: Domain): string {
  return `${hostname}: ${status}. ${summary.now}`;
}

const actors: { readonly [A in FindingView['actor']]: string } = {
  customer: 'You',
  dns_provider: 'Your DNS provider',
  platform: 'Signpost. You don’t need to do anything',
};

/** For customers. */
export function whoActs(term: string, actor: FindingView['actor']): Html {
  return html`<p class="who"><span class="quiet">${term}:</span> ${actors[actor]}</p>`;
}

/** `name` is also its ID, so it must be unique on the page. */
export type Field = {
  readonly name: string;
  readonly label: string;
  readonly value?: string;
  readonly hint?: Html | string;
  /** Why the input was refused. Such a text field gets the focus. */
  readonly problem?: string | null;
  /** For text fields: otherwise the browser requires a value. */
  readonly isOptional?: true;
  readonly placeholder?: string;
  /** For on-screen keyboards: `url` for host names. */
  readonly inputmode?: 'url';
};

/** A single line without autocompletion; with `inputmode`, without autocorrection too. */
export function textField(field: Field): Html {
  const { name, label, value = '', problem = null, placeholder, inputmode } = field;
  const plain = html` autocomplete="off" autocapitalize="none" spellcheck="false"`;
  return html`<div class="field">
<label for="${name}">${label}</label>
<input id="${name}" name="${name}" value="${value}"${attribute('placeholder', placeholder ?? null)}${attribute('inputmode', inputmode ?? null)}${attribute('required', field.isOptional !== true)}${inputmode === undefined ? attribute('autocomplete', 'off') : plain}${describedBy(field)}${attribute('autofocus', problem !== null)}>
${below(field)}
</div>`;
}

export type SelectOption = { readonly value: string; readonly text: string };

/** The first choice is the default. */
export function choiceField(field: Field, choices: readonly SelectOption[]): Html {
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
