/** What stands at the addresses of a host name: asked from this machine, and in lines. */
import { createExamineReach, type ReachReport } from '../../certificates/reach/reach.ts';
import { reachedAuthorities } from '../../certificates/reach/reached-authorities.ts';
import type { Config } from '../../config/config.ts';
import { isPublic } from '../../net/destination.ts';
import { type Page, plain, wrapped } from '../layout.ts';
import { marks } from '../lines.ts';
import type { Report } from '../shown.ts';

/** What is asked with. */
export type ReachFromHereDeps = Pick<Config, 'acme' | 'dns'> & {
  readonly observer: { lookupAddresses(hostname: string): Promise<readonly string[]> };
};

/** Whether an edge of the service answers is not known here: the secret that tells it is the service's. */
export function reachFromHere(
  { acme, dns, observer }: ReachFromHereDeps,
  hostname: string,
): Promise<ReachReport> {
  const examine = createExamineReach({
    probes: null,
    challenge: acme.challenge,
    ports: { http: acme.httpPort, https: acme.tlsPort },
    lookupAddresses: observer.lookupAddresses,
    isAllowed: (address) => dns.allowPrivate || isPublic(address),
    authorities: reachedAuthorities(acme),
  });
  return examine(hostname, null);
}

/** A line or two for each address, at each port; a name without an address has one that says so. */
export function addressLines({ reach }: Report, page: Page): readonly string[] {
  if (reach === undefined) return [];
  if (reach.addresses.length === 0) return ['  The name has no address to ask.'];
  return reach.addresses.flatMap((one) => marked(one, page));
}

/** The same of the authorities. */
export function authorityLines({ reach }: Report, page: Page): readonly string[] {
  return reach === undefined ? [] : reach.authorities.flatMap((one) => marked(one, page));
}

function marked(
  { summary, isProblem }: { readonly summary: string; readonly isProblem: boolean },
  { columns, paint }: Page,
): readonly string[] {
  const { sign, style } = isProblem ? marks.wrong : marks.right;
  const [first = '', ...rest] = wrapped(plain(summary), columns - 4);
  return [`  ${paint(style, sign)} ${first}`, ...rest.map((line) => `    ${line}`)];
}
