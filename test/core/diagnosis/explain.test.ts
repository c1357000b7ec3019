import { describe, expect, it } from 'vitest';
import { explain } from '../../../src/core/diagnosis/explain.ts';
import {
  actors,
  type Finding,
  type FindingCode,
  type FindingOf,
  severities,
} from '../../../src/core/diagnosis/findings.ts';

const hostname = 'docs.example.com';
const target = 'x.edge.test';
const about = { hostname, target };
const apex = { hostname: 'example.com', target };

/** One finding of each code: a new code does not compile until it is here. */
const samples: { readonly [C in FindingCode]: FindingOf<C> } = {
  record_missing: { code: 'record_missing', ...about, seen: 'nxdomain' },
  cname_mismatch: { code: 'cname_mismatch', ...about, found: 'other.net' },
  conflicting_a: { code: 'conflicting_a', ...about, addresses: ['192.0.2.7'], ours: [] },
  conflicting_aaaa: { code: 'conflicting_aaaa', ...about, addresses: ['2001:db8::7'], ours: [] },
  caa_blocks: {
    code: 'caa_blocks',
    hostname,
    foundAt: 'example.com',
    records: ['0 issue "ca.com"'],
    toAdd: '0 issue "letsencrypt.org"',
  },
  held_elsewhere: { code: 'held_elsewhere', hostname: 'example.com' },
  caa_unknown: { code: 'caa_unknown', hostname, name: 'example.com', outcome: 'timeout' },
  dns_unknown: {
    code: 'dns_unknown',
    hostname,
    servers: [{ server: 'ns1.example.com', outcome: 'refused' }],
  },
};

describe('every finding', () => {
  it.each(Object.values(samples))(
    '$code says what is wrong in one sentence, and what to do',
    (finding) => {
      const { code, severity, actor, summary, expected, found, action } = explain(finding);
      expect({ code, severity, actor }).toEqual({
        code: finding.code,
        severity: severities[finding.code],
        actor: actors[finding.code],
      });
      expect(summary).toMatch(/^[^\n]{20,240}\.$/);
      expect(summary).toContain(finding.hostname);
      for (const text of [expected, found, action]) expect(text).toMatch(/^[^\n]{10,400}$/);
      expect([summary, expected, found, action].join()).not.toMatch(/undefined|null|NaN|\[object/);
    },
  );
});

describe('the action', () => {
  const rows: readonly (readonly [what: string, finding: Finding, action: string])[] = [
    [
      'creates the missing record',
      samples.record_missing,
      'Create: CNAME docs → x.edge.test, TTL 3600. Most providers add the domain by themselves: enter only “docs” as the name.',
    ],
    [
      'creates the record of an apex',
      { code: 'record_missing', ...apex, seen: 'nodata' },
      'Create: ALIAS @ → x.edge.test, TTL 3600 (ANAME or flattened CNAME at some providers).',
    ],
    [
      'corrects the value',
      samples.cname_mismatch,
      'Change the CNAME record of docs.example.com: its value must be exactly x.edge.test, not another name that leads there.',
    ],
    [
      'removes what is in the way first',
      samples.conflicting_a,
      'Delete the A record 192.0.2.7 of docs.example.com, then create: CNAME docs → x.edge.test, TTL 3600.',
    ],
    [
      'removes several addresses at once',
      { code: 'conflicting_aaaa', ...about, addresses: ['2001:db8::7', '2001:db8::8'], ours: [] },
      'Delete the AAAA records 2001:db8::7, 2001:db8::8 of docs.example.com, then create: CNAME docs → x.edge.test, TTL 3600.',
    ],
    [
      'leaves an apex those addresses that are ours',
      {
        code: 'conflicting_a',
        ...apex,
        addresses: ['192.0.2.1', '192.0.2.7'],
        ours: ['192.0.2.1'],
      },
      'Delete the A record 192.0.2.7 of example.com, then create: ALIAS @ → x.edge.test, TTL 3600 (ANAME or flattened CNAME at some providers).',
    ],
    [
      'adds the CAA record',
      samples.caa_blocks,
      'Add this CAA record at example.com, beside those that are there: 0 issue "letsencrypt.org"',
    ],
    [
      'removes the CAA record that no other one outweighs',
      { ...samples.caa_blocks, toRemove: ['128 foo "bar"'] },
      'Delete from example.com, or set to flags 0: 128 foo "bar". If an issue record remains there, add: 0 issue "letsencrypt.org"',
    ],
  ];
  it.each(rows)('%s', (_, finding, action) => {
    expect(explain(finding).action).toBe(action);
  });
});

describe('the words', () => {
  it('tell a name that does not exist from one without the record', () => {
    const absent = explain(samples.record_missing);
    const bare = explain({ code: 'record_missing', ...about, seen: 'nodata' });
    expect(absent.summary).toBe('docs.example.com does not exist in the DNS yet.');
    expect(bare.summary).toBe(
      'docs.example.com exists in the DNS, but has no record that points here.',
    );
    expect(absent.found).not.toBe(bare.found);
    expect(absent.action).toBe(bare.action);
  });

  it('say why even our own address has to go', () => {
    const found = explain({
      code: 'conflicting_a',
      ...about,
      addresses: ['192.0.2.1'],
      ours: ['192.0.2.1'],
    });
    expect(found.summary).toContain('it must follow x.edge.test');
    expect(found.action).toContain('Delete the A record 192.0.2.1');
  });

  it('leave it to us when the look failed at our own name', () => {
    const ours = explain({ code: 'dns_unknown', hostname: target, servers: [] });
    expect(ours).toMatchObject({ actor: 'platform', severity: 'informs' });
    expect(ours.action).toContain('Nothing for you to do');
  });

  it('name at most five addresses', () => {
    const addresses = Array.from({ length: 8 }, (_, n) => `192.0.2.${n}`);
    expect(explain({ code: 'conflicting_a', ...about, addresses, ours: [] }).found).toBe(
      'A 192.0.2.0, 192.0.2.1, 192.0.2.2, 192.0.2.3, 192.0.2.4 and 3 more',
    );
  });

  it('show nothing that could hide or reorder text, and no endless value', () => {
    const nasty = `a\u001b[31m\u202e\u0000\n${'x'.repeat(5_000)}`;
    const { summary, found } = explain({ code: 'cname_mismatch', ...about, found: nasty });
    expect(summary).toContain('a\\u{1b}[31m\\u{202e}\\u{0}\\u{a}x');
    expect(`${summary}${found}`).not.toMatch(/\p{C}/u);
    expect(summary.length).toBeLessThan(450);
  });
});
