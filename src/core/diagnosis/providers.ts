/** DNS providers, recognized by the names of their name servers. */

import ipaddr from 'ipaddr.js';
import { splitAtZone } from '../names/zone.ts';

export type Provider = {
  /** As stored in findings. */
  readonly name: string;
  /** What points an apex to another host name there; null: unknown. */
  readonly apex: 'ALIAS' | 'ANAME' | 'CNAME flattening' | null;
  /** One sentence on where to enter records. */
  readonly where: string;
};

type Rule = Provider & {
  /** Of its name servers' names. */
  readonly suffixes: readonly string[];
};

/** `path`: as the provider's own pages name it. */
function rule(
  name: string,
  apex: Provider['apex'],
  path: string,
  ...suffixes: readonly string[]
): Rule {
  return { name, apex, where: `At ${name}: ${path}.`, suffixes };
}

function under(stem: string, ...tails: readonly string[]): string[] {
  return tails.map((tail) => `${stem}.${tail}`);
}

/** Verified facts only. On a tie, the first rule wins. */
export const providerRules: readonly Rule[] = [
  rule(
    'Cloudflare',
    'CNAME flattening',
    'the domain → DNS → Records, with the proxy status “DNS only”',
    'ns.cloudflare.com',
    'foundationdns.com',
    'foundationdns.net',
    'foundationdns.org',
  ),
  // Its own aliases can point only to Amazon services.
  rule(
    'Amazon Route 53',
    null,
    'Route 53 → Hosted zones → the domain',
    ...under('awsdns', 'com', 'net', 'org', 'co.uk'),
  ),
  rule(
    'Google Cloud DNS',
    'ALIAS',
    'Network services → Cloud DNS → the zone; a domain that came from Google Domains is edited at Squarespace instead, with A and AAAA records in place of an ALIAS',
    'googledomains.com',
  ),
  rule(
    'Azure DNS',
    null,
    'DNS zones → the domain → Record sets',
    ...under('azure-dns', 'com', 'net', 'org', 'info'),
  ),
  rule('GoDaddy', null, 'the domain → DNS → DNS Records', 'domaincontrol.com'),
  rule('Namecheap', 'ALIAS', 'Domain List → Manage → Advanced DNS', 'registrar-servers.com'),
  rule(
    'DNSimple',
    'ALIAS',
    'the domain → DNS',
    'dnsimple.com',
    ...under('dnsimple-edge', 'com', 'net', 'org'),
  ),
  rule('NS1', 'ALIAS', 'DNS → Zones, and for domains at Netlify their page there', 'nsone.net'),
  // It also serves the same zones from NS1's name servers.
  rule(
    'Squarespace',
    null,
    'Domains → the domain → DNS → DNS Settings',
    'squarespacedns.com',
    'nsone.net',
  ),
  rule('DigitalOcean', null, 'Networking → Domains → the domain', 'digitalocean.com'),
  rule('Linode', null, 'Domains → the domain', 'linode.com'),
  rule('Gandi', 'ALIAS', 'Domain → the domain → DNS Records', 'gandi.net'),
  rule('Porkbun', 'ALIAS', 'Domain Management → the domain → DNS', 'porkbun.com'),
  rule(
    'Hetzner',
    null,
    'DNS → the domain → Records',
    ...under('hetzner', 'com', 'de'),
    'first-ns.de',
    ...under('second-ns', 'com', 'de'),
  ),
  rule('OVHcloud', null, 'Domain names → the domain → DNS zone', 'ovh.net', 'ovh.ca', 'anycast.me'),
  rule(
    'IONOS',
    null,
    'Domains & SSL → the domain → DNS',
    ...under('ui-dns', 'com', 'org', 'de', 'biz'),
  ),
  rule('Enom', null, 'the domain → DNS', 'name-services.com'),
  rule('Hover', null, 'the domain → DNS', 'hover.com'),
  rule('NameSilo', null, 'Domain Manager → the domain → Manage DNS', 'namesilo.com', 'dnsowl.com'),
  rule('Wix', null, 'Domains → the domain → Manage DNS Records', 'wixdns.net'),
  rule('Hurricane Electric', null, 'dns.he.net → the domain → Edit zone', 'he.net'),
  rule('DNS Made Easy', 'ANAME', 'DNS → Managed DNS → the domain', 'dnsmadeeasy.com'),
  rule('Constellix', 'ANAME', 'Managed DNS → the domain', 'constellix.com', 'constellix.net'),
  rule('easyDNS', 'ANAME', 'the domain → DNS', ...under('easydns', 'com', 'net', 'org', 'info')),
  rule('Vercel', 'ALIAS', 'Domains → the domain → DNS Records', 'vercel-dns.com'),
  // It saves a CNAME named @ as ALIAS (support.hostinger.com/en/articles/10085192).
  rule(
    'Hostinger',
    'ALIAS',
    'Domains → the domain → DNS / Nameservers, where a CNAME with the name @ is saved as ALIAS',
    'dns-parking.com',
  ),
  rule('Name.com', 'ANAME', 'My Domains → the domain → DNS Records', 'name.com'),
  rule('Network Solutions', null, 'the domain → Advanced DNS', 'worldnic.com'),
  rule('INWX', 'ALIAS', 'Nameserver → the domain', ...under('inwx', 'com', 'net', 'de', 'eu')),
  rule('deSEC', null, 'Domain Management → the domain', ...under('desec', 'io', 'org')),
  rule('ClouDNS', 'ALIAS', 'DNS Hosting → the domain', 'cloudns.net'),
  rule('STRATO', null, 'the domain → DNS settings', 'rzone.de'),
  rule('netcup', null, 'the domain → DNS', 'netcup.net'),
];

/** The provider of more than half of the name servers. */
export function providerOf(serverNames: readonly string[]): Provider | null {
  let best: { readonly count: number; readonly rule: Rule } | null = null;
  for (const one of providerRules) {
    const count = serverNames.filter((name) => belongsTo(name, one)).length;
    if (count > (best?.count ?? 0)) best = { count, rule: one };
  }
  return best !== null && best.count * 2 > serverNames.length ? withoutRule(best.rule) : null;
}

/** `name`: as stored in findings. */
export function providerNamed(name: string): Provider | null {
  const found = providerRules.find((one) => one.name === name);
  return found === undefined ? null : withoutRule(found);
}

/** False if a server is known only by its address. */
export function areOfSeveralProviders(here: readonly string[], there: readonly string[]): boolean {
  const others = [...new Set(there)];
  return [...new Set(here)].every((one) => others.every((other) => areApart(one, other)));
}

function areApart(one: string, other: string): boolean {
  if (ipaddr.isValid(one) || ipaddr.isValid(other)) return false;
  // Amazon and others spread their name servers over several domains.
  return splitAtZone(one).zone !== splitAtZone(other).zone && providerOf([one, other]) === null;
}

function withoutRule({ name, apex, where }: Rule): Provider {
  return { name, apex, where };
}

/** `ns1.he.net` is below `he.net`, `ns1.the.net` is not. Ignores case. */
function belongsTo(serverName: string, { suffixes }: Rule): boolean {
  const name = `.${serverName.toLowerCase().replace(/\.$/, '')}`
    // Amazon numbers its zones: awsdns-00 to awsdns-63.
    .replace(/\.awsdns-\d\d\./, '.awsdns.');
  return suffixes.some((suffix) => name.endsWith(`.${suffix}`));
}
