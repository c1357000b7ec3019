/** A word in a pill: where something stands. The word says all of it; colour and sign only help to find it. */
import { type Html, html } from '../../html.ts';

export type Tone = 'good' | 'busy' | 'warning' | 'bad' | 'quiet';

const signs: { readonly [T in Tone]: string } = {
  good: '●',
  busy: '◐',
  warning: '▲',
  bad: '■',
  quiet: '○',
};

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

/** Of a domain (src/core/lifecycle.ts). */
export function statusBadge(status: keyof typeof statuses): Html {
  const [tone, word] = statuses[status];
  return badge(tone, word);
}
