/** The exact texts that customers act on. */
import { describe, expect, it } from 'vitest';
import type { Finding } from '../../../src/core/diagnosis/findings.ts';
import { explain } from '../../../src/core/diagnosis/findings.ts';
import { about, apex, hostname, samples, target } from '../support/sample-findings.ts';

const missing: Finding = { code: 'record_missing', ...about, seen: 'nxdomain' };
const missingAtApex = { code: 'record_missing', ...apex, seen: 'nodata' } as const;
const blocked = {
  code: 'caa_blocks',
  hostname,
  foundAt: 'example.com',
  records: ['0 issue "ca.com"'],
  toAdd: '0 issue "letsencrypt.org"',
} as const;
const conflict = { code: 'conflicting_a', ...about, addresses: ['192.0.2.7'], ours: [] } as const;

describe('the action', () => {
  const rows: readonly (readonly [what: string, finding: Finding, action: string])[] = [
    [
      'creates the missing record',
      missing,
      'Create: CNAME docs → x.edge.test, TTL 3600. Most providers add the domain automatically: enter only “docs” as the name.',
    ],
    [
      'names the place at a known provider',
      { ...missing, provider: 'GoDaddy' },
      'Create: CNAME docs → x.edge.test, TTL 3600. Most providers add the domain automatically: enter only “docs” as the name. At GoDaddy: the domain → DNS → DNS Records.',
    ],
    [
      'creates the record of an apex and offers alternatives',
      missingAtApex,
      'Create: ALIAS @ → x.edge.test, TTL 3600 (ANAME or flattened CNAME at some providers). If your provider has none of these, create A and AAAA records with the addresses of x.edge.test, and update them when those change. Or add www.example.com here, and redirect example.com to it at your provider. Or move the DNS of the domain to a provider with ALIAS, ANAME or CNAME flattening. If the record exists already, check its value: one that points to a missing name resolves to nothing.',
    ],
    [
      'uses the provider’s own term',
      { ...missingAtApex, provider: 'easyDNS' },
      'Create: ANAME @ → x.edge.test, TTL 3600. At easyDNS: the domain → DNS. If the record exists already, check its value: one that points to a missing name resolves to nothing.',
    ],
    [
      'creates a CNAME when the provider flattens it',
      { ...missingAtApex, provider: 'Cloudflare' },
      'Create: CNAME @ → x.edge.test, TTL 3600, which Cloudflare resolves automatically (CNAME flattening). At Cloudflare: the domain → DNS → Records, with the proxy status “DNS only”. If the record exists already, check its value: one that points to a missing name resolves to nothing.',
    ],
    [
      'offers alternatives when the provider has no such record',
      { code: 'apex_elsewhere', ...apex, addresses: ['192.0.2.7'], provider: 'GoDaddy' },
      'Delete these records of example.com: A 192.0.2.7. GoDaddy has no known record type that points example.com to another host name. Instead, create A and AAAA records with the addresses of x.edge.test, and update them when those change. Or add www.example.com here, and redirect example.com to it at your provider. Or move the DNS of the domain to a provider with ALIAS, ANAME or CNAME flattening. At GoDaddy: the domain → DNS → DNS Records.',
    ],
    [
      'removes the CNAME of an apex first',
      { code: 'cname_at_apex', ...apex, found: 'other.net', provider: 'Gandi' },
      'Delete the CNAME record of example.com. Create: ALIAS @ → x.edge.test, TTL 3600. At Gandi: Domain → the domain → DNS Records.',
    ],
    [
      'deletes only foreign addresses at an apex',
      { code: 'apex_mixed', ...apex, ours: ['192.0.2.1'], others: ['192.0.2.7', '2001:db8::7'] },
      'Delete these records of example.com: A 192.0.2.7, AAAA 2001:db8::7. Keep ours.',
    ],
    [
      'corrects the value',
      { code: 'cname_mismatch', ...about, found: 'other.net' },
      'Change the CNAME record of docs.example.com: its value must be exactly x.edge.test, not another name that points there.',
    ],
    [
      'removes conflicting records first',
      conflict,
      'Delete the A record 192.0.2.7 of docs.example.com, then create: CNAME docs → x.edge.test, TTL 3600.',
    ],
    [
      'removes several addresses at once',
      { code: 'conflicting_aaaa', ...about, addresses: ['2001:db8::7', '2001:db8::8'], ours: [] },
      'Delete the AAAA records 2001:db8::7, 2001:db8::8 of docs.example.com, then create: CNAME docs → x.edge.test, TTL 3600.',
    ],
    [
      'keeps our own addresses at an apex',
      { ...conflict, ...apex, addresses: ['192.0.2.1', '192.0.2.7'], ours: ['192.0.2.1'] },
      'Delete the A record 192.0.2.7 of example.com. If the record that points here does not exist yet, create: ALIAS @ → x.edge.test, TTL 3600 (ANAME or flattened CNAME at some providers).',
    ],
    [
      'names the switch of a proxy',
      { code: 'proxied', ...about, by: 'Cloudflare', addresses: ['104.16.0.1'] },
      'If this is your own site behind Cloudflare: at Cloudflare, open DNS → Records and edit docs.example.com. Set “Proxy status” to “DNS only”. The value must be exactly x.edge.test. If it is another site: delete these addresses at your DNS provider, and create the record.',
    ],
    [
      'offers alternatives for a name with mail',
      { code: 'mail_at_name', ...about, exchanges: ['10 mx.example.net'] },
      'If mail addresses that end in @docs.example.com are unused: delete the MX records there, then create the CNAME record. Otherwise keep them, and add another name here instead, for example www.docs.example.com.',
    ],
    [
      'adds the CAA record',
      blocked,
      'Add this CAA record at example.com, beside the existing ones: 0 issue "letsencrypt.org"',
    ],
    [
      'adds the excluded method',
      { ...blocked, reason: 'other_method', method: 'http-01' },
      'Add this CAA record at example.com, beside the existing ones: 0 issue "letsencrypt.org" – or add http-01 to the validationmethods of the existing record.',
    ],
    [
      'removes the CAA record that no other one outweighs',
      { ...blocked, toRemove: ['128 foo "bar"'] },
      'Delete from example.com, or set to flags 0: 128 foo "bar". If an issue record remains there, add: 0 issue "letsencrypt.org"',
    ],
  ];
  it.each(rows)('%s', (_, finding, action) => {
    expect(explain(finding).action).toBe(action);
  });

  it('waits for resolver caches and says until when', () => {
    const cached = samples.old_answer_cached;
    const until = (time: string | null) => explain({ ...cached, until: time }).action;
    expect(until('2026-11-20T14:05:00.000Z')).toContain(
      'Nothing for you to do: it expires by 14:05 UTC on 2026-11-20.',
    );
    expect(until('2026-11-20T23:59:30Z')).toContain('by 00:00 UTC on 2026-11-21.');
    expect(until('2026-11-20T14:05:00+02:00')).toContain('by 12:05 UTC on 2026-11-20.');
    for (const none of [null, 'soon', '+999999-01-01T00:00:00Z']) {
      expect(until(none)).toContain('within hours.');
    }
  });

  const ofSigner = 'Ask your DNS provider';
  const ofDs = 'At your registrar, delete the DS record of example.com';
  it.each([
    [6, ofDs],
    [7, `${ofSigner} to sign example.com again: its signatures have expired.`],
    [8, `${ofSigner} to check the clock of its servers`],
    [9, ofDs],
    [10, 'Delete the DS record at your registrar (turn DNSSEC off there), or turn signing on'],
    [11, ofDs],
    [
      12,
      `${ofSigner} to sign example.com again: its proof that a record is missing (NSEC) is broken.`,
    ],
  ])('repairs DNSSEC by its cause: EDE %i', (code, said) => {
    const errors = [{ code, text: 'in its own words' }];
    const finding: Finding = { code: 'dnssec_bogus', hostname, zone: 'example.com', errors };
    expect(explain(finding).action).toContain(said);
    expect(explain(finding).found).toContain(`(EDE ${code}: “in its own words”)`);
  });
});

describe('the texts', () => {
  it('distinguish a nonexistent name from one without the record', () => {
    const absent = explain(missing);
    const bare = explain({ code: 'record_missing', ...about, seen: 'nodata' });
    expect(absent.summary).toBe('docs.example.com does not exist in the DNS yet.');
    expect(bare.summary).toBe(
      'docs.example.com exists in the DNS, but has no record that points here.',
    );
    expect(absent.found).not.toBe(bare.found);
    expect(absent.action).not.toContain('TXT');
    expect(bare.action).toContain(
      'A CNAME cannot share its name: first delete other records of exactly the name docs.example.com, such as TXT.',
    );
  });

  it('count the name servers with the record', () => {
    const { summary, found, action } = explain({
      code: 'name_servers_disagree',
      ...about,
      right: ['ns1.example.net', 'ns2.example.net'],
      others: [
        { server: 'ns3.example.net', shows: 'A 192.0.2.1' },
        { server: 'ns4.example.net', shows: 'no record' },
      ],
    });
    expect(summary).toContain('2 of 4 of your name servers have the record');
    expect(found).toBe(
      '2 of 4 of your name servers have the record: ns1.example.net, ns2.example.net; ns3.example.net still shows A 192.0.2.1, ns4.example.net still shows no record',
    );
    expect(action).toContain('Nothing to do: your DNS provider is updating');
    expect(action).toContain('We check again within seconds');
  });

  it('explain why even our own address has to be removed', () => {
    const found = explain({ ...conflict, addresses: ['192.0.2.1'], ours: ['192.0.2.1'] });
    expect(found.summary).toContain('it must point to x.edge.test');
    expect(found.action).toContain('Delete the A record 192.0.2.1');
  });

  it('leave it to the platform when the check failed at our own name', () => {
    const ours = explain({ code: 'dns_unknown', hostname: target, servers: [] });
    expect(ours.severity).toBe('informs');
    expect(ours.action).toContain('this name belongs to the platform');
  });

  it('name at most five addresses', () => {
    const addresses = Array.from({ length: 8 }, (_, n) => `192.0.2.${n}`);
    expect(explain({ ...conflict, addresses }).found).toBe(
      'A 192.0.2.0, 192.0.2.1, 192.0.2.2, 192.0.2.3, 192.0.2.4 and 3 more',
    );
  });

  it('escape untrusted text visibly', () => {
    const found = `a\u001b[31m\u202e\u0000\n${'x'.repeat(5_000)}`;
    const { summary } = explain({ code: 'cname_mismatch', ...about, found });
    expect(summary).toContain('a\\u{1b}[31m\\u{202e}\\u{0}\\u{a}x');
    expect(summary.length).toBeLessThan(450);
  });

  it.each([
    ['other_authority', 'do not let our certificate authority issue'],
    ['nobody', 'do not let any certificate authority issue'],
    ['malformed', 'is malformed'],
    ['other_account', 'another account (accounturi)'],
    [
      'other_method',
      'its validationmethods do not include http-01, which we use for docs.example.com',
    ],
    ['unknown_critical', 'does not support a critical CAA record'],
  ] as const)('give the reason of a CAA refusal: %s', (reason, said) => {
    expect(explain({ ...blocked, reason, method: 'http-01' }).summary).toContain(said);
  });

  it('explain only a CA that reads CAA more strictly than the RFC', () => {
    const strict = 'our certificate authority is stricter';
    expect(explain({ ...blocked, rfc: 'allow' }).found).toContain(strict);
    expect(explain({ ...blocked, rfc: 'deny' }).found).toBe('At example.com: 0 issue "ca.com"');
  });
});
