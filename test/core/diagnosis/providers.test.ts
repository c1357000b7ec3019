import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  areOfSeveralProviders,
  providerNamed,
  providerOf,
  providerRules,
} from '../../../src/core/diagnosis/providers.ts';

describe('a provider is recognized by its name servers:', () => {
  const rows: readonly (readonly [name: string, ...servers: string[]])[] = [
    ['Cloudflare', 'ada.ns.cloudflare.com', 'BOB.NS.CLOUDFLARE.COM.'],
    ['Amazon Route 53', 'ns-1.awsdns-00.com', 'ns-1536.awsdns-00.co.uk', 'ns-512.awsdns-63.net'],
    ['Google Cloud DNS', 'ns-cloud-a1.googledomains.com', 'ns-cloud-a2.googledomains.com'],
    ['Azure DNS', 'ns1-01.azure-dns.com', 'ns2-01.azure-dns.net', 'ns3-01.azure-dns.org'],
    ['GoDaddy', 'ns01.domaincontrol.com', 'ns02.domaincontrol.com'],
    ['Namecheap', 'dns1.registrar-servers.com', 'dns2.registrar-servers.com'],
    ['DNSimple', 'ns1.dnsimple.com', 'ns2.dnsimple-edge.net', 'ns4.dnsimple-edge.org'],
    ['NS1', 'dns1.p01.nsone.net', 'dns2.p01.nsone.net'],
    ['Squarespace', 'ns01.squarespacedns.com', 'ns02.squarespacedns.com'],
    ['Squarespace', 'ns01.squarespacedns.com', 'dns1.p06.nsone.net', 'dns2.p06.nsone.net'],
    ['DigitalOcean', 'ns1.digitalocean.com', 'ns2.digitalocean.com', 'ns3.digitalocean.com'],
    ['Linode', 'ns1.linode.com'],
    ['Gandi', 'ns-7-a.gandi.net', 'ns-8-b.gandi.net'],
    ['Porkbun', 'curitiba.ns.porkbun.com', 'fortaleza.ns.porkbun.com'],
    ['Hetzner', 'hydrogen.ns.hetzner.com', 'oxygen.ns.hetzner.com', 'helium.ns.hetzner.de'],
    ['OVHcloud', 'dns10.ovh.net', 'ns10.ovh.net'],
    ['IONOS', 'ns1012.ui-dns.com', 'ns1012.ui-dns.de', 'ns1012.ui-dns.org', 'ns1012.ui-dns.biz'],
    ['Enom', 'dns1.name-services.com'],
    ['Hover', 'ns1.hover.com', 'ns2.hover.com'],
    ['NameSilo', 'ns1.dnsowl.com', 'ns2.dnsowl.com', 'ns3.dnsowl.com'],
    ['Wix', 'ns0.wixdns.net', 'ns1.wixdns.net'],
    ['Hurricane Electric', 'ns1.he.net', 'ns2.he.net'],
    ['DNS Made Easy', 'ns10.dnsmadeeasy.com'],
    ['easyDNS', 'dns1.easydns.com', 'dns2.easydns.net', 'dns3.easydns.org'],
    ['Vercel', 'ns1.vercel-dns.com', 'ns2.vercel-dns.com'],
    ['Hostinger', 'ns1.dns-parking.com', 'ns2.dns-parking.com'],
    ['Name.com', 'ns1abc.name.com', 'ns2abc.name.com'],
    ['Network Solutions', 'ns1.worldnic.com'],
    ['INWX', 'ns.inwx.de', 'ns2.inwx.de', 'ns3.inwx.eu'],
    ['deSEC', 'ns1.desec.io', 'ns2.desec.org'],
  ];
  for (const [name, ...servers] of rows) {
    it(`${name} by ${servers.join(', ')}`, () => expect(providerOf(servers)?.name).toBe(name));
  }

  it.each([
    [[]],
    [['ns1.example.com']],
    [['ns.cloudflare.com.evil.example']],
    [['notcloudflare.com', 'fakens.cloudflare.com.example']],
    [['ns1.myhe.net', 'ns1.fakename.com']],
    [['ns-1.awsdns-7.com', 'ns-1.awsdns-007.com']],
    [['192.0.2.53']],
    [['constructor', '__proto__', '']],
  ])('none by %j', (servers) => expect(providerOf(servers)).toBeNull());

  it('is the one with most of the servers, or none for a draw', () => {
    const cloudflare = ['a.ns.cloudflare.com', 'b.ns.cloudflare.com'];
    expect(providerOf([...cloudflare, 'ns1.example.com'])?.name).toBe('Cloudflare');
    expect(providerOf([...cloudflare, 'ns1.he.net', 'ns2.he.net'])).toBeNull();
  });
});

describe('a provider', () => {
  it('is found by the name stored in a finding', () => {
    const found = providerOf(['ns1.dnsimple.com']);
    expect(found).toEqual({
      name: 'DNSimple',
      apex: 'ALIAS',
      where: 'At DNSimple: the domain → DNS.',
    });
    expect(providerNamed('DNSimple')).toEqual(found);
    expect(providerNamed('dnsimple')).toBeNull();
    expect(providerNamed('constructor')).toBeNull();
  });

  const rows: readonly (readonly [apex: string | null, ...names: string[]])[] = [
    ['CNAME flattening', 'Cloudflare'],
    ['ALIAS', 'DNSimple', 'Namecheap', 'NS1', 'Gandi', 'Porkbun', 'Vercel', 'INWX', 'Hostinger'],
    ['ANAME', 'DNS Made Easy', 'easyDNS', 'Name.com'],
    [null, 'Amazon Route 53', 'Azure DNS', 'GoDaddy', 'NameSilo'],
    [null, 'Hurricane Electric', 'Squarespace'],
  ];
  for (const [apex, ...names] of rows) {
    it.each(names)(`supports an apex by ${apex}: %s`, (name) => {
      expect(providerNamed(name)).toMatchObject({ name, apex });
    });
  }
});

it('every provider is documented', () => {
  const page = readFileSync(
    new URL('../../../docs/understand/findings.md', import.meta.url),
    'utf8',
  );
  const [, section = ''] = page.split(/<!-- \/?apex-records/);
  const rows = section.match(/^\| [A-Z].*\|.*\|$/gm) ?? [];
  const documented = rows.flatMap((row) =>
    (row.split('|')[1] ?? '').split(', ').map((name) => name.trim()),
  );
  expect(documented.sort()).toEqual(providerRules.map(({ name }) => name).sort());
});

describe('name servers of several providers', () => {
  it.each([
    [['ns1.old.net', 'ns2.old.net'], ['ns1.new.org'], true],
    [['ns1.old.net'], ['ns2.old.net'], false],
    [['ns1.old.net', 'ns1.new.org'], ['ns2.new.org'], false],
    [['ns-1.awsdns-00.com'], ['ns-2.awsdns-63.co.uk'], false],
    [['ns01.squarespacedns.com'], ['dns1.p06.nsone.net'], false],
    [['ns1.gandi.net'], ['ns1.hover.com'], true],
    [['192.0.2.53'], ['198.51.100.53'], false],
    [['ns1.old.net'], ['2001:db8::53'], false],
  ])('%j beside %j: %s', (here, there, are) => {
    expect(areOfSeveralProviders(here, there)).toBe(are);
    expect(areOfSeveralProviders(there, here)).toBe(are);
  });
});
