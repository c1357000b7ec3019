/** A reverse proxy in front of the name, which hides its record. */
import type { FamilyOf } from './finding.ts';
import type { DiagnosisInput } from './input.ts';
import {
  CLOUDFLARE,
  isProxiedHere,
  type ProxyPassage,
  passageOf,
  proxyInTheWay,
} from './proxies.ts';
import { addressRecords, foreign, recordIn, type Wanted } from './words.ts';

export type ProxiedFinding = Wanted & {
  readonly code: 'proxied';
  readonly by: string;
  readonly addresses: readonly string[];
  /** What happens to challenges; missing: not checked. */
  readonly passage?: ProxyPassage;
  /** HTTP statuses of answers that are not from our edge, ascending. */
  readonly statuses?: readonly number[];
};

export const proxied: FamilyOf<ProxiedFinding> = {
  proxied: {
    meaning: 'A proxy hides the CNAME',
    severity: 'blocks',
    // Other answers do not show that challenges are stopped.
    severityFor: ({ passage }) =>
      passage === 'passes' || passage === 'unknown' || passage === 'unseen' ? 'warns' : 'blocks',
    actor: 'customer',
    order: 30,
    // In other zones, the addresses can belong to another site behind the same proxy.
    orderFor: (input) => (isProxiedHere(input) ? 30 : 105),
    check: proxiedBy,
    leads: 'here',
    explain: (finding) => {
      const { hostname, addresses, passage, statuses = [] } = finding;
      const by = foreign(finding.by);
      return {
        summary: summaries[passage ?? 'unchecked'](hostname, by),
        expected:
          passage === 'passes'
            ? 'A proxy that passes challenges on, or none.'
            : `${recordIn(finding)}, not proxied`,
        found: `Addresses of ${by}: ${addressRecords(addresses)}${statuses.length === 0 ? '' : `; challenges get status ${statuses.join(', ')}`}`,
        action: actions[passage ?? 'unchecked'](finding),
      };
    },
  },
};

type Case = ProxyPassage | 'unchecked';

const summaries: { readonly [C in Case]: (hostname: string, by: string) => string } = {
  passes: (hostname, by) =>
    `${hostname} is behind ${by}’s proxy, which passes challenges on to us, so it can be used.`,
  unknown: (hostname, by) =>
    `${hostname} is behind ${by}’s proxy. We could not see whether it passes challenges on to us.`,
  redirect: (hostname, by) =>
    `${hostname} is behind ${by}’s proxy, which redirects challenges to where no certificate authority follows, so no certificate can be issued.`,
  no_certificate: (hostname, by) =>
    `${hostname} is behind ${by}’s proxy, which connects to us over HTTPS. That fails while there is no certificate here.`,
  no_origin: (hostname, by) =>
    `${hostname} is behind ${by}’s proxy, which cannot resolve the value of its record.`,
  unseen: (hostname, by) =>
    `${hostname} is behind ${by}’s proxy. Only the service can see whether it passes challenges on.`,
  firewall: (hostname, by) =>
    `${hostname} is behind ${by}’s proxy, where a security rule probably stops challenges, so no certificate can be issued.`,
  elsewhere: (hostname, by) =>
    `${hostname} is behind ${by}’s proxy, which leads to another server, so no certificate can be issued.`,
  unchecked: (hostname, by) =>
    `${hostname} resolves to ${by}’s proxy, which hides the record. Certificate orders can fail.`,
};

const PATH = '/.well-known/acme-challenge/';

/** The first way needs no rule and has no cost, so it is always mentioned. */
const actions: { readonly [C in Case]: (finding: ProxiedFinding) => string } = {
  passes: ({ hostname }) =>
    `Nothing to change in the DNS. The cost: visitors get the proxy’s certificate, ours is renewed over HTTP through the proxy only, and we cannot see the record. One setting at Cloudflare matters once ${hostname} is live: SSL/TLS → Overview must be “Full (strict)”, because “Flexible” causes endless redirects. It applies to all names of the domain. Without the proxy (“DNS only”), there is none of this.`,
  unknown: (finding) =>
    `We check again automatically. If it lasts: ${dnsOnly(finding)} With the proxy, an error 52x means that Cloudflare cannot connect to the value of the record.`,
  redirect: (finding) =>
    `${dnsOnly(finding)} Or keep the proxy, and turn off the redirect rule that matches ${PATH}.`,
  no_certificate: (finding) =>
    `${dnsOnly(finding)} Or keep the proxy: turn off “Always Use HTTPS” under SSL/TLS → Edge Certificates until ${finding.hostname} is live, and choose “Full” if SSL/TLS → Overview is “Strict (SSL-Only Origin Pull)”. Both apply to all names of the domain.`,
  no_origin: (finding) =>
    `At Cloudflare, open DNS → Records and edit ${finding.hostname}: its value must be exactly ${finding.target}. With “Proxy status” at “DNS only”, we can see the record.`,
  unseen: ({ hostname }) =>
    `Check it through the service: signpost doctor ${hostname}, without --target. Or, at Cloudflare, set “Proxy status” of ${hostname} to “DNS only”.`,
  firewall: (finding) =>
    `${dnsOnly(finding)} Or keep the proxy: under Security → Security rules, add a rule that skips all others if the URI path starts with ${PATH}.`,
  elsewhere: (finding) =>
    `${dnsOnly(finding)} Or keep the proxy, if the value of the record is exactly ${finding.target} and no rule sends requests elsewhere.`,
  unchecked: (finding) =>
    finding.by === CLOUDFLARE
      ? `If this is your own site behind Cloudflare: ${dnsOnly(finding, 'at')} If it is another site: delete these addresses at your DNS provider, and create the record.`
      : `If this is your own site behind ${foreign(finding.by)}: turn the proxy off there for ${finding.hostname}, so that the DNS shows the record. Its value must be exactly ${finding.target}.`,
};

function dnsOnly({ hostname, target }: ProxiedFinding, at: 'At' | 'at' = 'At'): string {
  return `${at} Cloudflare, open DNS → Records and edit ${hostname}. Set “Proxy status” to “DNS only”. The value must be exactly ${target}.`;
}

function proxiedBy(input: DiagnosisInput): ProxiedFinding | undefined {
  const found = proxyInTheWay(input);
  if (found === undefined) return undefined;
  const { proxy = [] } = input.observation;
  const passage = isProxiedHere(input) ? passageOf(proxy) : undefined;
  const all = proxy.flatMap(({ result, status }) => (result === 'edge' ? [] : (status ?? [])));
  const statuses = [...new Set(all)].sort((one, other) => one - other);
  return {
    code: 'proxied',
    ...input.wanted,
    ...found,
    ...(passage && { passage }),
    ...(passage && statuses.length > 0 && { statuses }),
  };
}
