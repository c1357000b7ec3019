/** The way of a domain in three steps, and how far it has come. */
import { attribute, type Html, html } from '../../../html.ts';
import type { Domain } from '../../answers.ts';

type State = 'done' | 'current' | 'failed' | 'to come';

const progress: { readonly [S in Domain['status']]: readonly [State, State, State] } = {
  pending: ['current', 'to come', 'to come'],
  verified: ['done', 'current', 'to come'],
  live: ['done', 'done', 'done'],
  drifted: ['failed', 'done', 'failed'],
  failed: ['failed', 'to come', 'to come'],
};

const names = ['DNS record', 'Certificate', 'Live'] as const;

export function steps({ status }: Domain): Html {
  const states = progress[status];
  return html`<ol class="steps" aria-label="Progress">
${names.map((name, index) => step(name, states[index] ?? 'to come'))}
</ol>`;
}

function step(name: string, state: State): Html {
  const [className] = state.split(' ');
  return html`<li class="${className ?? ''}"${attribute('aria-current', state === 'current' ? 'step' : null)}>${name} <span class="unseen">(${state})</span></li>`;
}
