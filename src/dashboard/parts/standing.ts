/** Where a domain stands, in the API's own line, its time moving. */
import { type Html, html } from '../../net/html.ts';
import type { Domain, Finding } from '../client.ts';
import { relativeTime } from './part.ts';

export function standing({ summary, checks }: Domain, now: Date): Html {
  const { now: stands, next, nextAt } = summary;
  const of = nextAt === checks.nextCheckAt ? 'next-check' : 'to-come';
  const then = nextAt === null ? next : html`${next} ${relativeTime(nextAt, now, of)}.`;
  return html`<span class="now">${stands}</span> <span class="next">${then}</span>`;
}

/** What is told when it changes: without the time, which changes all the while. */
export function spokenStanding({ hostname, status, summary }: Domain): string {
  return `${hostname}: ${status}. ${summary.now}`;
}

const actors: { readonly [A in Finding['actor']]: string } = {
  customer: 'You',
  dns_provider: 'Your DNS provider',
  platform: 'We do; there is nothing for you to do',
};

export function whoActs(term: string, actor: Finding['actor']): Html {
  return html`<p class="who"><span class="quiet">${term}:</span> ${actors[actor]}</p>`;
}
