/** Queries beside the hostname that explain what probably went wrong. */
import { afterEach, describe, expect, it } from 'vitest';
import { asked, closeAll, openTestLab } from './test-lab.ts';

afterEach(closeAll);

const target = 'p1.edge.test';
const hostname = 'docs.shop.test';
const checkTarget = { hostname, target, apex: false };
const right = 'docs CNAME p1.edge.test.';
const isRandom = (one: string) => /^[a-z]{24}\.shop\.test A$/.test(one);

async function observed(shop: string[], others: Record<string, string[]> = {}, what = checkTarget) {
  const { dns, observer } = await openTestLab({ 'shop.test': shop, 'edge.test': [], ...others });
  return { dns, seen: await observer.observe(what) };
}

describe('a random name beside the hostname', () => {
  it('shows that a wildcard answers for the correct record', async () => {
    const { seen } = await observed(['* CNAME p1.edge.test.']);
    expect(seen.nearby.sibling).toMatchObject({ cname: { records: [target] } });
    expect(seen.servers).toMatchObject([{ soa: { serial: 1 } }]);
  });

  it('shows that there is no wildcard, and the zone’s serial number', async () => {
    const { dns, seen } = await observed([right]);
    expect(seen.nearby.sibling).toEqual({ cname: { kind: 'nxdomain' }, a: { kind: 'nxdomain' } });
    expect(seen.servers).toMatchObject([{ soa: { serial: 1, negativeTtlSeconds: 60 } }]);
    // The name could be a separate zone at the same server.
    expect(asked(dns).filter((one) => one.endsWith(' SOA'))).toEqual(['docs.shop.test SOA']);
  });

  it('is queried at one server', async () => {
    const two = ['@ NS ns1', '@ NS ns2', 'ns1 A 127.0.0.1', 'ns2 A 127.0.0.1'];
    const well = await observed([...two, right]);
    expect(asked(well.dns).filter(isRandom)).toHaveLength(1);
    const wrong = await observed([...two, '* A 192.0.2.9', 'docs A 192.0.2.1']);
    expect(asked(wrong.dns).filter(isRandom)).toHaveLength(1);
    expect(wrong.seen.nearby.sibling).toMatchObject({
      cname: { kind: 'nodata' },
      a: { records: ['192.0.2.9'] },
    });
  });

  it('differs in each check', async () => {
    const { dns, observer } = await openTestLab({ 'shop.test': [right], 'edge.test': [] });
    await observer.observe(checkTarget);
    await observer.observe(checkTarget);
    expect(new Set(asked(dns).filter(isRandom)).size).toBe(2);
  });

  it('is not queried beside an apex', async () => {
    const apex = { ...checkTarget, hostname: 'shop.test', apex: true };
    const { seen } = await observed(['@ A 192.0.2.10'], { 'edge.test': ['p1 A 192.0.2.10'] }, apex);
    expect(seen.nearby.sibling).toBeNull();
    expect(seen.servers).toMatchObject([{ soa: { serial: 1 } }]);
  });
});

describe('the usual wrong places for a record', () => {
  it.each([
    ['the full name typed before the zone', 'docs.shop.test CNAME p1.edge.test.', 'doubled'],
    ['www before the name', 'www.docs CNAME p1.edge.test.', 'www.docs.shop.test'],
    ['the domain itself', '@ CNAME p1.edge.test.', 'shop.test'],
  ])('are queried: %s', async (_what, line, where) => {
    const { seen } = await observed([line]);
    const { doubled, wrongHosts } = seen.nearby;
    expect(doubled?.name).toBe('docs.shop.test.shop.test');
    expect(wrongHosts.map(({ name }) => name)).toEqual(['www.docs.shop.test', 'shop.test']);
    const found = [doubled, ...wrongHosts].filter((one) => one?.cname.kind === 'records');
    expect(found).toMatchObject([
      { name: where === 'doubled' ? doubled?.name : where, cname: { records: [target] } },
    ]);
  });

  it('are not queried when the record is correct', async () => {
    const { dns, seen } = await observed([right]);
    expect(seen.nearby).toMatchObject({ doubled: null, wrongHosts: [], chain: null });
    expect(asked(dns).filter((one) => / (MX|TXT|CNAME)/.test(one))).toEqual([]);
  });

  it('of an apex do not include the apex itself', async () => {
    const apex = { ...checkTarget, hostname: 'shop.test', apex: true };
    const { dns, seen } = await observed(
      ['@ A 192.0.2.1', '@ MX 10 mail'],
      { 'edge.test': ['p1 A 192.0.2.10'] },
      apex,
    );
    expect(seen.nearby.doubled?.name).toBe('shop.test.shop.test');
    expect(seen.nearby.wrongHosts.map(({ name }) => name)).toEqual(['www.shop.test']);
    expect(asked(dns).filter((one) => / (MX|TXT)/.test(one))).toEqual([]);
  });

  it('are skipped when the name would be too long', async () => {
    const long = `${'a'.repeat(60)}.${'b'.repeat(60)}.${'c'.repeat(60)}.${'d'.repeat(60)}.shop.test`;
    const { seen } = await observed(['www A 192.0.2.1'], {}, { ...checkTarget, hostname: long });
    expect(seen.nearby.doubled).toBeNull();
    expect(seen.nearby.wrongHosts.map(({ name }) => name)).toEqual(['shop.test']);
    expect(seen.servers).toMatchObject([{ cname: { kind: 'nxdomain' } }]);
  });

  it('include MX and TXT, queried at one server', async () => {
    const { seen } = await observed([
      'docs MX 10 mail.example.net.',
      'docs MX 5 backup',
      'docs TXT "p1.edge" ".test"',
    ]);
    expect(seen.servers).toMatchObject([
      {
        mx: { records: ['10 mail.example.net', '5 backup.shop.test'] },
        txt: { records: ['p1.edge.test'] },
      },
    ]);
  });

  it.each([
    ['an alias', ['docs CNAME other.test.']],
    ['nothing', []],
  ])('exclude mail when there is %s', async (_what, shop) => {
    const { dns, seen } = await observed(shop);
    expect(seen.servers).toMatchObject([{ mx: null, txt: null }]);
    expect(asked(dns).filter((one) => / (MX|TXT)/.test(one))).toEqual([]);
  });
});

describe('an alias to another name', () => {
  const nine = Array.from({ length: 9 }, (_, i) => `n${i + 1} CNAME n${i + 2}`);
  it.each<[string, string[], string, string[]]>([
    [
      'reaches the target in the end',
      ['docs CNAME mid', 'mid CNAME p1.edge.test.'],
      'target',
      ['mid.shop.test', target],
    ],
    ['crosses another zone', ['docs CNAME a.other.test.'], 'target', ['a.other.test', target]],
    ['elsewhere', ['docs CNAME mid', 'mid A 192.0.2.1'], 'elsewhere', ['mid.shop.test']],
    ['leads to a nonexistent name', ['docs CNAME gone'], 'elsewhere', ['gone.shop.test']],
    ['leads back to itself', ['docs CNAME docs'], 'loop', [hostname]],
    [
      'leads back to itself indirectly',
      ['docs CNAME a', 'a CNAME docs'],
      'loop',
      ['a.shop.test', hostname],
    ],
    [
      'leads into a loop',
      ['docs CNAME a', 'a CNAME b', 'b CNAME a'],
      'loop',
      ['a.shop.test', 'b.shop.test', 'a.shop.test'],
    ],
    [
      'is too long a chain',
      ['docs CNAME n1', ...nine],
      'unknown',
      Array.from({ length: 8 }, (_, i) => `n${i + 1}.shop.test`),
    ],
    ['leads to a server that fails', ['docs CNAME a.silent.test.'], 'unknown', ['a.silent.test']],
  ])('%s', async (_where, shop, end, names) => {
    const { dns, observer } = await openTestLab({
      'shop.test': shop,
      'other.test': ['a CNAME p1.edge.test.'],
      'silent.test': [],
      'edge.test': [],
    });
    dns.fail('a.silent.test', '*', 'refused');
    const { nearby } = await observer.observe(checkTarget);
    expect(nearby.chain).toEqual({ names, end });
  });

  it('is followed at the zones’ own servers only', async () => {
    const { dns, seen } = await observed(['docs CNAME a.other.test.'], {
      'other.test': ['a CNAME p1.edge.test.'],
    });
    expect(seen.nearby.chain?.end).toBe('target');
    expect(asked(dns).filter((one) => one.startsWith('a.other.test'))).toEqual(['a.other.test A']);
  });

  it('is followed by resolvers in the recursive view', async () => {
    const zones = { 'shop.test': ['docs CNAME mid', 'mid CNAME p1.edge.test.'], 'edge.test': [] };
    const { dns, observer } = await openTestLab(zones, { authoritative: false });
    const { nearby } = await observer.observe(checkTarget);
    expect(nearby.chain).toEqual({ names: ['mid.shop.test', target], end: 'target' });
    expect(asked(dns).filter((one) => one.startsWith('mid.'))).toEqual([]);
  });
});
