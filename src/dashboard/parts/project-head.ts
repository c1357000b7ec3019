import { attribute, type Html, html } from '../../net/html.ts';
import type { ProjectView } from '../client.ts';
import type { Link } from '../layout.ts';

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
