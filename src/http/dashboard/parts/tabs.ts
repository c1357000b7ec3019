/** The two pages of a project, and which one this is. */
import { attribute, type Html, html } from '../../html.ts';
import type { Project } from '../answers.ts';
import type { Link } from '../page.ts';

export type Tab = 'domains' | 'settings';

const tabs: readonly (readonly [Tab, string])[] = [
  ['domains', 'Domains'],
  ['settings', 'Primary and redirects'],
];

export function projectHead({ id, name, slug, plan }: Project, current: Tab, link: Link): Html {
  return html`<h1>${name}</h1>
<p class="quiet under">${slug} · ${plan} plan</p>
<nav class="tabs" aria-label="Project settings">
${tabs.map(([tab, text]) => html`<a href="${link(`/projects/${id}/${tab}`)}"${attribute('aria-current', tab === current ? 'page' : null)}>${text}</a>`)}
</nav>`;
}
