/** The cost of a check, and when an earlier one is confirmed. */
import { afterEach, describe, expect, it } from 'vitest';
import type { Observation } from '../../src/core/diagnosis/observation.ts';
import { asked, closeAll, comparedWith, openTestLab } from './test-lab.ts';
import { checkTarget, hostname, openZone, right, target, unhealthy } from './two-servers.ts';

afterEach(closeAll);

describe('a full check of a healthy subdomain with two name servers', () => {
  it('costs fifteen queries with an empty cache', async () => {
    const { observer, count } = await openZone([right]);
    const { cost } = await observer.observe(checkTarget);
    expect(count()).toHaveLength(15);
    expect(cost.questions).toBe(15);
  });

  it('costs seven queries, fourteen packets in total, with the zone and its servers cached', async () => {
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
      // It shows the alias as well as A does, and mail beside it.
      'docs.shop.test MX',
      'p1.edge.test CAA rd',
      // From each server, because they can differ; a negative answer carries the serial number.
      'shop.test CAA',
      'shop.test CAA',
    ]);
    expect(cost.questions).toBe(7);
  });

  it('costs seven with a CAA set of the domain', async () => {
    const { observer, count, forget } = await openZone([right, '@ CAA 0 issue "ca.example"']);
    await observer.observe(checkTarget);
    forget();
    await observer.observe(checkTarget);
    expect(count()).toHaveLength(7);
  });
});

describe('an earlier check with a problem', () => {
  it.each(unhealthy)(
    'costs $questions queries: $title',
    async ({ lines, edge: edgeLines, questions }) => {
      const { observer, count, forget } = await openZone(lines, edgeLines);
      const previous = await observer.observe(checkTarget);
      forget();
      expect((await observer.observeAgain(checkTarget, comparedWith(previous))).kind).toBe(
        'unchanged',
      );
      expect(count()).toHaveLength(questions);
    },
  );

  it.each<[string, string[], string[], string[]]>([
    ['the record appears', [], [], [right]],
    ['the CNAME has changed', ['docs CNAME other.test.'], ['docs CNAME other.test.'], [right]],
    ['the address has changed', ['docs A 192.0.2.1'], ['docs A 192.0.2.1'], ['docs A 192.0.2.2']],
    ['a CNAME appears beside the address', ['docs A 192.0.2.1'], [], [right]],
    ['one more address appears', ['docs A 192.0.2.1'], [], ['docs A 192.0.2.2']],
    ['an AAAA record appears', ['docs A 192.0.2.1'], [], ['docs AAAA 2001:db8::1']],
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
    ['a closer CAA set', [right, '@ CAA 0 issue "a.example"'], ['@ CAA 0 issue "a.example"'], []],
  ])('is repeated when %s', async (_what, lines, remove, add) => {
    const { observer, edit } = await openZone(lines);
    const previous = await observer.observe(checkTarget);
    edit(remove, add);
    const { kind, observation } = await observer.observeAgain(checkTarget, comparedWith(previous));
    expect(kind).toBe('observed');
    expect({ ...observation, cost: null, nearby: null }).not.toEqual({
      ...previous,
      cost: null,
      nearby: null,
    });
  });

  it.each([
    ['a new MX record', ['docs A 192.0.2.1'], [], ['docs MX 10 mx']],
    ['a removed MX record', ['docs A 192.0.2.1', 'docs MX 10 mx'], ['docs MX 10 mx'], []],
    ['a new TXT record', ['docs A 192.0.2.1'], [], [`docs TXT "${target}"`]],
    ['a changed TXT record', ['docs TXT "a"'], ['docs TXT "a"'], ['docs TXT "b"']],
    ['a new AAAA record', ['docs A 192.0.2.1'], [], ['docs AAAA 2001:db8::1']],
  ])(
    'is repeated within three checks after %s, though the serial number stays',
    async (_what, lines, remove, add) => {
      const { observer, edit } = await openZone(lines);
      const previous = await observer.observe(checkTarget);
      for (const depth of ['light', 'compare', 'light'] as const) {
        const again = await observer.observeAgain(checkTarget, { observation: previous, depth });
        expect(again.kind).toBe('unchanged');
      }
      edit(remove, add);
      const kinds: string[] = [];
      for (const depth of ['light', 'compare', 'light'] as const) {
        const again = await observer.observeAgain(checkTarget, { observation: previous, depth });
        kinds.push(again.kind);
        expect(again.observation.servers.map(({ soa }) => soa?.serial)).toEqual([1, 1]);
      }
      expect(kinds).toContain('observed');
    },
  );

  it('is repeated when one of two servers changes', async () => {
    const { observer, both } = await openZone([]);
    const previous = await observer.observe(checkTarget);
    both[1]?.edit('shop.test', { add: [right] });
    const { observation } = await observer.observeAgain(checkTarget, comparedWith(previous));
    expect(observation.servers.map(({ cname }) => cname.kind)).toEqual(['nxdomain', 'records']);
  });

  it('is repeated when only the second server has lost its AAAA record', async () => {
    const apex = { hostname: 'shop.test', target, apex: true };
    const { observer, both } = await openZone(['@ A 192.0.2.10']);
    both[1]?.edit('shop.test', { add: ['@ AAAA 2001:db8::bad'] });
    const previous = await observer.observe(apex);
    expect((await observer.observeAgain(apex, comparedWith(previous))).kind).toBe('unchanged');
    both[1]?.edit('shop.test', { remove: ['@ AAAA 2001:db8::bad'] });
    expect((await observer.observeAgain(apex, comparedWith(previous))).kind).toBe('observed');
  });

  it('is repeated when the CNAME beside the addresses of an apex is gone', async () => {
    const apex = { hostname: 'shop.test', target, apex: true };
    const { observer, edit } = await openZone(['@ A 192.0.2.10', '@ CNAME other.test.']);
    const previous = await observer.observe(apex);
    expect((await observer.observeAgain(apex, comparedWith(previous))).kind).toBe('unchanged');
    edit(['@ CNAME other.test.'], []);
    expect((await observer.observeAgain(apex, comparedWith(previous))).kind).toBe('observed');
  });

  it('sends no query twice when it is repeated', async () => {
    const { observer, edit, count, forget } = await openZone([]);
    const previous = await observer.observe(checkTarget);
    edit([], [right]);
    forget();
    await observer.observeAgain(checkTarget, comparedWith(previous));
    expect(count().filter((one) => one === 'docs.shop.test A')).toHaveLength(2);
  });

  it.each([
    ['it is for another name', (seen: Observation) => ({ ...seen, hostname: 'x.shop.test' })],
    ['it used the resolver view', (seen: Observation) => ({ ...seen, view: 'recursive' as const })],
    [
      'the registry answered differently',
      (seen: Observation) => ({
        ...seen,
        delegation: { kind: 'unregistered' as const, zone: 'shop.test', parent: 'test' },
      }),
    ],
  ])('is repeated when %s', async (_why, changed) => {
    const { observer } = await openZone([]);
    const previous = changed(await observer.observe(checkTarget));
    const { kind, observation } = await observer.observeAgain(checkTarget, comparedWith(previous));
    expect(kind).toBe('observed');
    expect(observation.servers).toHaveLength(2);
  });

  it('is repeated when it was right', async () => {
    const { observer } = await openZone([right]);
    const previous = await observer.observe(checkTarget);
    expect((await observer.observeAgain(checkTarget, comparedWith(previous))).kind).toBe(
      'observed',
    );
  });

  it('is confirmed with its fields in the order of the database', async () => {
    const { observer } = await openZone([right, '@ CAA 0 issue "ca.example"']);
    const previous = withFieldsReversed(await observer.observe(checkTarget));
    expect((await observer.observeAgain(checkTarget, comparedWith(previous))).kind).toBe(
      'unchanged',
    );
  });

  it('of an unregistered domain is confirmed by the registry', async () => {
    const { observer } = await openZone([]);
    const unsold = { ...checkTarget, hostname: 'docs.unsold.test' };
    const previous = await observer.observe(unsold);
    expect((await observer.observeAgain(unsold, comparedWith(previous))).kind).toBe('unchanged');
  });

  it('with invalid signatures is confirmed until a resolver validates them', async () => {
    const { observer, both, count, forget } = await openZone([right]);
    both[0]?.fail(hostname, 'A', { kind: 'bogus', errors: [{ code: 7, text: '' }] }, 'recursive');
    const previous = await observer.observe(checkTarget);
    forget();
    expect((await observer.observeAgain(checkTarget, comparedWith(previous))).kind).toBe(
      'unchanged',
    );
    expect(count()).toHaveLength(3);
    both[0]?.heal();
    expect((await observer.observeAgain(checkTarget, comparedWith(previous))).kind).toBe(
      'observed',
    );
  });

  it('is repeated when the CAA set is published elsewhere', async () => {
    const set = 'CAA 0 issue "ca.example"';
    const { observer, edit } = await openZone([right, '@ CNAME a', `a ${set}`, `b ${set}`]);
    const previous = await observer.observe(checkTarget);
    expect((await observer.observeAgain(checkTarget, comparedWith(previous))).kind).toBe(
      'unchanged',
    );
    edit(['@ CNAME a'], ['@ CNAME b']);
    expect((await observer.observeAgain(checkTarget, comparedWith(previous))).kind).toBe(
      'observed',
    );
  });

  it('of four servers is compared at all of them', async () => {
    const four = [1, 2, 3, 4].flatMap((n) => [`@ NS s${n}`, `s${n} A 127.0.0.1`]);
    const { dns, observer } = await openTestLab({ 'shop.test': [...four, 'docs A 192.0.2.1'] });
    const previous = await observer.observe(checkTarget);
    dns.forget();
    expect((await observer.observeAgain(checkTarget, comparedWith(previous))).kind).toBe(
      'unchanged',
    );
    const types = asked(dns).map((one) => one.split(' ')[1]);
    expect(types.sort()).toEqual(['A', 'A', 'A', 'A', 'AAAA']);
  });
});

function withFieldsReversed<T>(value: T): T {
  return JSON.parse(JSON.stringify(value), (_key, inner: unknown) =>
    inner !== null && typeof inner === 'object' && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).reverse())
      : inner,
  );
}
