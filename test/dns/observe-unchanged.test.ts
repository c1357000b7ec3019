/** What a check costs, and when an earlier one still holds. */
import { afterEach, describe, expect, it } from 'vitest';
import type { Observation } from '../../src/core/diagnosis/observation.ts';
import { asked, closeAll, comparedWith, openLaboratory } from './laboratory.ts';
import { checkTarget, hostname, openZone, right, target, unhealthy } from './two-servers.ts';

afterEach(closeAll);

describe('a full check at a healthy subdomain with two name servers', () => {
  it('costs fifteen questions where nothing is known', async () => {
    const { observer, count } = await openZone([right]);
    const { cost } = await observer.observe(checkTarget);
    expect(count()).toHaveLength(15);
    expect(cost.questions).toBe(15);
  });

  it('costs seven, there and back fourteen packets, where the zone and its servers are known', async () => {
    const { observer, count, forget } = await openZone([right]);
    await observer.observe(checkTarget);
    forget();
    const { cost } = await observer.observe(checkTarget);
    expect(
      count()
        .map((one) => one.replace(/^[a-z]{24}\./, '*.'))
        .sort(),
    ).toEqual([
      '*.shop.test A',
      'docs.shop.test A',
      'docs.shop.test A rd',
      // It shows the alias as well as A does, and the mail that a few servers let stand beside it.
      'docs.shop.test MX',
      'p1.edge.test CAA rd',
      // Of each server: they may differ. A denial brings the serial number along.
      'shop.test CAA',
      'shop.test CAA',
    ]);
    expect(cost.questions).toBe(7);
  });

  it('costs seven with a CAA set of the domain, too', async () => {
    const { observer, count, forget } = await openZone([right, '@ CAA 0 issue "ca.example"']);
    await observer.observe(checkTarget);
    forget();
    const { servers } = await observer.observe(checkTarget);
    expect(count()).toHaveLength(7);
    expect(servers.map(({ soa }) => soa?.serial)).toEqual([1, undefined]);
  });
});

/** docs/decisions/0009-a-check-and-its-price.md has them. */
const full: readonly (readonly [what: string, name: string, lines: string[], questions: number])[] =
  [
    ['nothing', hostname, [], 10],
    ['a CNAME that leads nowhere', hostname, ['docs CNAME other.test.'], 11],
    ['a text', hostname, ['docs TXT "x"'], 15],
    ['an old address', hostname, ['docs A 192.0.2.1'], 17],
    ['our address at an apex', 'shop.test', ['@ A 192.0.2.10'], 11],
    ['a foreign address at an apex', 'shop.test', ['@ A 192.0.2.99'], 12],
    ['an apex that leads here', 'www.shop.test', ['@ A 192.0.2.10'], 12],
  ];

it.each(full)(
  'a full check that finds %s costs so many questions: %s',
  async (_what, name, lines, questions) => {
    const { observer, count, forget } = await openZone(lines);
    const check = { hostname: name, target, apex: name === 'shop.test' };
    const { cost } = await observer.observe(check);
    expect(cost.questions).toBeLessThanOrEqual(26);
    forget();
    await observer.observe(check);
    expect(count()).toHaveLength(questions);
  },
);

it('a full check of an apex with both of our addresses costs as much: CAA brings the serial number', async () => {
  const addresses = ['A 192.0.2.10', 'AAAA 2001:db8::10'];
  const { observer, count, forget } = await openZone(
    addresses.map((one) => `@ ${one}`),
    addresses.map((one) => `p1 ${one}`),
  );
  const apex = { hostname: 'shop.test', target, apex: true };
  await observer.observe(apex);
  forget();
  const { world, servers } = await observer.observe(apex);
  expect(world).toHaveLength(1);
  expect(servers.map(({ soa }) => soa?.serial)).toEqual([1, 1]);
  expect(count()).toHaveLength(11);
});

describe('an earlier look that was not right', () => {
  it.each(unhealthy)(
    'still holds by $questions questions: $title',
    async ({ lines, edge: edgeLines, questions }) => {
      const { observer, count, forget } = await openZone(lines, edgeLines);
      const previous = await observer.observe(checkTarget);
      forget();
      expect(await observer.observe(checkTarget, comparedWith(previous))).toBe(previous);
      expect(count()).toHaveLength(questions);
    },
  );

  it.each<[string, string[], string[], string[]]>([
    ['the record appears', [], [], [right]],
    ['another CNAME stands there', ['docs CNAME other.test.'], ['docs CNAME other.test.'], [right]],
    ['another address', ['docs A 192.0.2.1'], ['docs A 192.0.2.1'], ['docs A 192.0.2.2']],
    ['a CNAME beside the address', ['docs A 192.0.2.1'], [], [right]],
    ['one more address', ['docs A 192.0.2.1'], [], ['docs A 192.0.2.2']],
    ['only the name appears', [], [], ['docs TXT "x"']],
    [
      'the zone’s serial number has changed',
      ['@ SOA ns1 h 1 3600 600 86400 60'],
      ['@ SOA ns1 h 1 3600 600 86400 60'],
      ['@ SOA ns1 h 2 3600 600 86400 60'],
    ],
    [
      'the CAA set has changed',
      [right, '@ CAA 0 issue "a.example"'],
      ['@ CAA 0 issue "a.example"'],
      ['@ CAA 0 issue "b.example"'],
    ],
    ['a nearer CAA set', [right, '@ CAA 0 issue "a.example"'], ['@ CAA 0 issue "a.example"'], []],
  ])('is made again where %s', async (_what, lines, remove, add) => {
    const { observer, edit } = await openZone(lines);
    const previous = await observer.observe(checkTarget);
    edit(remove, add);
    const seen = await observer.observe(checkTarget, comparedWith(previous));
    expect(seen).not.toBe(previous);
    expect({ ...seen, cost: null, nearby: null }).not.toEqual({
      ...previous,
      cost: null,
      nearby: null,
    });
  });

  it.each([
    ['an MX record is gone', ['docs MX 10 mx'], []],
    ['a TXT record is gone', ['docs TXT "old"'], []],
    ['an AAAA record is gone', ['docs AAAA 2001:db8::7'], []],
    ['an AAAA record has come', [], ['docs AAAA 2001:db8::7']],
  ])(
    'is made again soon where %s, though the serial number never moves',
    async (_what, remove, add) => {
      const { observer, edit } = await openZone(['docs A 192.0.2.1', 'docs TXT "x"', ...remove]);
      const previous = await observer.observe(checkTarget);
      expect(await observer.observe(checkTarget, comparedWith(previous))).toBe(previous);
      edit(remove, add);
      // One of three types is drawn each time: that none of a hundred is the one has a chance of 10^-18.
      for (let nth = 0; nth < 100; nth += 1) {
        const seen = await observer.observe(checkTarget, comparedWith(previous));
        if (seen === previous) continue;
        expect(seen.servers.map(({ soa }) => soa?.serial)).toEqual([1, 1]);
        return;
      }
      throw new Error('the change was never seen');
    },
  );

  it('is made again where one of two servers shows something else', async () => {
    const { observer, both } = await openZone([]);
    const previous = await observer.observe(checkTarget);
    both[1]?.edit('shop.test', { add: [right] });
    const seen = await observer.observe(checkTarget, comparedWith(previous));
    expect(seen.servers.map(({ cname }) => cname.kind)).toEqual(['nxdomain', 'records']);
  });

  it('is made again where the AAAA record of the second server alone is gone', async () => {
    const apex = { hostname: 'shop.test', target, apex: true };
    const { observer, both } = await openZone(['@ A 192.0.2.10']);
    both[1]?.edit('shop.test', { add: ['@ AAAA 2001:db8::bad'] });
    const previous = await observer.observe(apex);
    expect(await observer.observe(apex, comparedWith(previous))).toBe(previous);
    both[1]?.edit('shop.test', { remove: ['@ AAAA 2001:db8::bad'] });
    expect(await observer.observe(apex, comparedWith(previous))).not.toBe(previous);
  });

  it('is made again where the CNAME beside the addresses of an apex is gone', async () => {
    const apex = { hostname: 'shop.test', target, apex: true };
    const { observer, edit } = await openZone(['@ A 192.0.2.10', '@ CNAME other.test.']);
    const previous = await observer.observe(apex);
    expect(await observer.observe(apex, comparedWith(previous))).toBe(previous);
    edit(['@ CNAME other.test.'], []);
    expect(await observer.observe(apex, comparedWith(previous))).not.toBe(previous);
  });

  it('asks nothing twice where it is made again', async () => {
    const { observer, edit, count, forget } = await openZone([]);
    const previous = await observer.observe(checkTarget);
    edit([], [right]);
    forget();
    await observer.observe(checkTarget, comparedWith(previous));
    expect(count().filter((one) => one === 'docs.shop.test A')).toHaveLength(2);
  });

  it.each([
    ['it is of another name', (seen: Observation) => ({ ...seen, hostname: 'x.shop.test' })],
    ['resolvers told', (seen: Observation) => ({ ...seen, view: 'recursive' as const })],
    [
      'the registry said something else',
      (seen: Observation) => ({
        ...seen,
        delegation: { kind: 'unregistered' as const, zone: 'shop.test', parent: 'test' },
      }),
    ],
  ])('is made again where %s', async (_why, changed) => {
    const { observer } = await openZone([]);
    const previous = changed(await observer.observe(checkTarget));
    const seen = await observer.observe(checkTarget, comparedWith(previous));
    expect(seen).not.toBe(previous);
    expect(seen.servers).toHaveLength(2);
  });

  it('is made again where it was right', async () => {
    const { observer } = await openZone([right]);
    const previous = await observer.observe(checkTarget);
    expect(await observer.observe(checkTarget, comparedWith(previous))).not.toBe(previous);
  });

  it('holds as the database gives it back, with its fields in another order', async () => {
    const { observer } = await openZone([right, '@ CAA 0 issue "ca.example"']);
    const previous = withFieldsReversed(await observer.observe(checkTarget));
    expect(await observer.observe(checkTarget, comparedWith(previous))).toBe(previous);
  });

  it('of a domain that nobody has registered holds by the registry’s word', async () => {
    const { observer } = await openZone([]);
    const unsold = { ...checkTarget, hostname: 'docs.unsold.test' };
    const previous = await observer.observe(unsold);
    expect(await observer.observe(unsold, comparedWith(previous))).toBe(previous);
  });

  it('with bad signatures holds until a resolver finds them good', async () => {
    const { observer, both, count, forget } = await openZone([right]);
    both[0]?.fail(hostname, 'A', { kind: 'bogus', errors: [{ code: 7, text: '' }] }, 'recursive');
    const previous = await observer.observe(checkTarget);
    forget();
    expect(await observer.observe(checkTarget, comparedWith(previous))).toBe(previous);
    expect(count()).toHaveLength(3);
    both[0]?.heal();
    expect(await observer.observe(checkTarget, comparedWith(previous))).not.toBe(previous);
  });

  it('with other CAA sets at each server holds until one of them changes', async () => {
    const { observer, both, count, forget } = await openZone([right, '@ CAA 0 issue "a.example"']);
    both[1]?.edit('shop.test', { add: ['@ CAA 0 issue "b.example"'] });
    const previous = await observer.observe(checkTarget);
    expect(previous.caa?.at(-1)?.servers).toHaveLength(2);
    forget();
    expect(await observer.observe(checkTarget, comparedWith(previous))).toBe(previous);
    expect(count()).toHaveLength(4);
    forget();
    const light = { observation: previous, depth: 'light' } as const;
    expect(await observer.observe(checkTarget, light)).toBe(previous);
    expect(count()).toHaveLength(3);
    both[1]?.edit('shop.test', { remove: ['@ CAA 0 issue "b.example"'] });
    expect(await observer.observe(checkTarget, comparedWith(previous))).not.toBe(previous);
  });

  it('is made again where the CAA set is published elsewhere', async () => {
    const set = 'CAA 0 issue "ca.example"';
    const { observer, edit } = await openZone([right, '@ CNAME a', `a ${set}`, `b ${set}`]);
    const previous = await observer.observe(checkTarget);
    expect(await observer.observe(checkTarget, comparedWith(previous))).toBe(previous);
    edit(['@ CNAME a'], ['@ CNAME b']);
    expect(await observer.observe(checkTarget, comparedWith(previous))).not.toBe(previous);
  });

  it('of four servers is asked for at all of them', async () => {
    const four = [1, 2, 3, 4].flatMap((n) => [`@ NS s${n}`, `s${n} A 127.0.0.1`]);
    const { dns, observer } = await openLaboratory({ 'shop.test': [...four, 'docs A 192.0.2.1'] });
    const previous = await observer.observe(checkTarget);
    dns.forget();
    expect(await observer.observe(checkTarget, comparedWith(previous))).toBe(previous);
    const types = asked(dns).map((one) => one.split(' ')[1]);
    // One of the four may be asked for MX or TXT in place of A.
    expect(types.sort()).toEqual([
      'A',
      'A',
      'A',
      expect.stringMatching(/^AA?A?A?$/),
      expect.stringMatching(/^(AAAA|MX|TXT)$/),
    ]);
    expect(types).toContain('AAAA');
  });
});

/** The same JSON with the fields of every object the other way round. */
function withFieldsReversed<T>(value: T): T {
  return JSON.parse(JSON.stringify(value), (_key, inner: unknown) =>
    inner !== null && typeof inner === 'object' && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).reverse())
      : inner,
  );
}
