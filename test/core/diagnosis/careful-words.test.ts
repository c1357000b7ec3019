/** Texts that must not lead a customer to break mail, wildcards or other sites. */
import { describe, expect, it } from 'vitest';
import type { Finding } from '../../../src/core/diagnosis/findings.ts';
import { explain } from '../../../src/core/diagnosis/findings.ts';
import { foreignName } from '../../../src/core/diagnosis/words.ts';
import { reservedRange } from '../../../src/core/names/reserved-addresses.ts';
import { about, apex, samples } from '../support/sample-findings.ts';

const exchanges = ['10 mx.example.net'];
const hints = [{ code: 'wildcard_masks', wildcard: '*.example.com' }] as const;
const missing = { code: 'record_missing', ...about, seen: 'nodata' } as const;
const conflict = { code: 'conflicting_a', ...about, addresses: ['192.0.2.7'], ours: [] } as const;
const RECORD = 'CNAME docs → x.edge.test, TTL 3600';
const first =
  'docs.example.com receives mail (MX 10 mx.example.net), which a CNAME record would end. First move the mail to another name';
const instead = ', or keep it and add another name here instead, for example www.docs.example.com.';

describe('the action', () => {
  const rows: readonly (readonly [what: string, finding: Finding, begin: string])[] = [
    [
      'moves mail before it creates',
      { ...missing, exchanges },
      `${first} and delete its MX records${instead} Then create: ${RECORD}.`,
    ],
    [
      'moves mail before it deletes',
      { ...conflict, exchanges },
      `${first} and delete its MX records${instead} Delete the A record 192.0.2.7 of docs.example.com, then create: ${RECORD}.`,
    ],
    [
      'deletes no MX records of a wildcard',
      { ...missing, exchanges, hints },
      `${first}${instead} Then create: ${RECORD}.`,
    ],
    [
      'leaves addresses of a wildcard alone',
      { ...conflict, hints },
      `Create: ${RECORD}. It takes precedence over *.example.com, which stays as it is. If there are A records of exactly that name, delete those first.`,
    ],
    [
      'leaves the alias of a wildcard alone',
      { code: 'cname_mismatch', ...about, found: 'other.net', hints },
      `Create: ${RECORD}. It takes precedence over *.example.com, which stays as it is. If there is a CNAME record of exactly that name, change it.`,
    ],
    [
      'requests no second record where a wildcard may suffice',
      samples.wildcard_answers,
      'If you created a separate record for docs.example.com, there is nothing to do.',
    ],
    ['disables a proxy only for an own site', samples.proxied, 'If this is your own site behind'],
    [
      'tells where to restore a deleted zone',
      samples.name_server_lame,
      'evidence.example is missing at this server. Add it there, or ask your DNS provider to. Or enter the right name servers at',
    ],
  ];
  it.each(rows)('%s', (_, finding, begin) => {
    expect(explain(finding).action.slice(0, begin.length)).toBe(begin);
  });

  it('creates the record at both providers of a zone', () => {
    const apart = {
      ...samples.name_servers_disagree,
      right: ['ns1.old.net'],
      others: [{ server: 'ns1.new.org', shows: 'no record' }],
    };
    expect(explain(apart).action).toContain(
      'Create the record at both, or list the name servers of only one of them at your registrar.',
    );
    expect(explain(apart).summary).not.toContain('yet to follow');
    const below = { ...apart, hostname: 'docs.team.example.com', zone: 'team.example.com' };
    expect(explain(below).action).toContain('at the parent zone.');
  });

  it.each([
    ['record_missing', { code: 'record_missing', ...apex, seen: 'nodata' }],
    ['cname_at_apex', { code: 'cname_at_apex', ...apex, found: 'other.net', provider: 'GoDaddy' }],
    ['apex_elsewhere', { code: 'apex_elsewhere', ...apex, addresses: ['192.0.2.7'] }],
  ] as const)('names our addresses when the customer can choose: %s', (_, finding) => {
    const ourAddresses = ['192.0.2.1', '2001:db8::1'];
    expect(explain({ ...finding, ourAddresses }).action).toContain(
      'addresses of x.edge.test (now A 192.0.2.1, AAAA 2001:db8::1), and update them when those change',
    );
    expect(explain(finding).action).toContain('addresses of x.edge.test, and update them');
  });
});

describe('the texts', () => {
  it('distinguish our resolvers from the servers of a zone', () => {
    const servers = [{ server: '192.0.2.53', outcome: 'servfail' } as const];
    const { found, action } = explain({ ...samples.dns_unknown, servers, errors: [] });
    expect(found).toBe('our resolver 192.0.2.53: the server failed (SERVFAIL)');
    expect(action).not.toContain('these servers');
  });

  it('do not call a domain on hold unowned', () => {
    const { summary } = explain(samples.domain_unregistered);
    expect(summary).toContain('is not in the DNS of its registry');
    expect(summary).not.toContain('owns');
  });

  it('do not claim that only a wildcard exists', () => {
    expect(explain(samples.wildcard_answers).summary).toContain(
      'whether docs.example.com has its own record.',
    );
  });

  it('do not call a wrong value right', () => {
    const text = 'https://x.edge.test/';
    const hint = { code: 'txt_instead_of_cname', text } as const;
    const [said] = explain({ ...missing, hints: [hint] }).hints;
    expect(said?.text).not.toContain('right');
    expect(said?.text).toContain('Delete it');
  });

  it.each([
    '192.0.2.1',
    '192.31.196.1',
    '192.52.193.1',
    '2002::1',
    '2001:0:1::',
    '100::1',
    'fec0::1',
    '64:ff9b::1',
    '2001:10::1',
    '2001:20::1',
    '2001:30::1',
    '5f00::1',
    '::ffff:1.2.3.4',
    '3fff::1',
  ])('have a readable name for the range of %s', (address) => {
    const range = reservedRange(address);
    if (range === null) return;
    const at = 'docs.example.com';
    const { found } = explain({
      code: 'reserved_address',
      hostname: at,
      addresses: [{ at, address, range }],
    });
    expect(found).not.toContain(`(${range})`);
  });
});

describe('an untrusted name', () => {
  it.each([
    ['https\\058\\047\\047p1.edge.test\\047', 'https://p1.edge.test/'],
    ['\\"p1\\".edge.test', '"p1".edge.test'],
    ['p1\\.edge.test', 'p1\\.edge.test'],
    ['p1\\046edge.test', 'p1\\.edge.test'],
    ['a\\\\b.test', 'a\\\\b.test'],
    ['a\\092b.test', 'a\\\\b.test'],
    ['\\092048.test', '\\\\048.test'],
    ['a\\032b.test', 'a\\032b.test'],
    ['\\000\\027\\127\\195\\188.test', '\\000\\027\\127\\195\\188.test'],
    ['\\999.test', '\\999.test'],
    ['a\u202eb\\', 'a\\u{202e}b\\'],
  ])('%s is shown as %s', (name, shown) => {
    expect(foreignName(name)).toBe(shown);
  });

  it.each([
    { code: 'cname_mismatch', ...about, found: 'https\\058\\047\\047p1.test' },
    { code: 'cname_at_apex', ...apex, found: 'https\\058\\047\\047p1.test' },
    { code: 'cname_loop', ...about, names: ['https\\058\\047\\047p1.test'] },
    {
      ...samples.name_servers_disagree,
      others: [{ server: 'ns', shows: 'CNAME https\\058\\047\\047p1.test' }],
    },
  ] satisfies Finding[])('is shown as it was typed in $code', (finding) => {
    expect(explain(finding).found).toContain('https://p1.test');
  });
});
