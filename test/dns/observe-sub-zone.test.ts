/** A zone delegated below the registrable domain: a name at its start is an apex. */
import { afterEach, describe, expect, it } from 'vitest';
import { examine } from '../../src/dns/examine.ts';
import { asked, closeAll, comparedWith, openTestLab } from './test-lab.ts';

afterEach(closeAll);

const target = 'p1.edge.test';
const apex = { hostname: 'docs.shop.test', target, apex: false };
const inside = { hostname: 'a.sub.shop.test', target, apex: false };
const edge = ['p1 A 192.0.2.10'];
const ca = { issuerDomains: ['ca.example'], accountUri: null, method: 'http-01' } as const;

async function open(zones: Record<string, string[]>) {
  return openTestLab({ 'shop.test': [], 'edge.test': edge, ...zones });
}

describe('a hostname at the start of a delegated zone', () => {
  it('is checked as an apex: our addresses, its own CAA set, and no names beside it', async () => {
    const { dns, observer } = await open({
      'docs.shop.test': ['@ A 192.0.2.10', '@ CAA 0 issue "ca.example"'],
      'edge.test': [...edge, 'p1 CAA 0 issue "other.example"'],
    });
    const seen = await observer.observe(apex);
    expect(seen).toMatchObject({
      delegation: { zone: 'docs.shop.test' },
      targetAddresses: ['192.0.2.10'],
      world: [{ a: { records: ['192.0.2.10'] }, aaaa: { kind: 'nodata' } }],
      nearby: { sibling: null, doubled: null, wrongHosts: [], chain: null },
    });
    expect(seen.caa).toMatchObject([
      { name: 'docs.shop.test', answer: { records: [{ value: 'ca.example' }] } },
    ]);
    expect(asked(dns)).toContain('docs.shop.test AAAA rd');
  });

  it.each([
    ['it has no records', []],
    ['its address is foreign', ['@ A 198.51.100.1']],
    ['a CNAME stands beside its SOA', ['@ CNAME p1.edge.test.']],
  ])('is not right and includes our addresses when %s', async (_what, lines) => {
    const { dns, observer } = await open({ 'docs.shop.test': lines });
    const seen = await observer.observe(apex);
    expect(seen).toMatchObject({
      targetAddresses: ['192.0.2.10'],
      world: [],
      nearby: { sibling: null, doubled: null, wrongHosts: [] },
    });
    // The SOA record exists, so no negative answer is cached.
    expect(asked(dns).filter((one) => /^docs\.shop\.test (?!SOA)\S+ rd$/.test(one))).toEqual([]);
    dns.forget();
    expect((await observer.observeAgain(apex, comparedWith(seen))).kind).toBe('unchanged');
    // A and AAAA of the name, and of the target if there is an address to compare.
    expect(asked(dns).length).toBeLessThanOrEqual(4);
  });

  it('is checked in full again once it is right', async () => {
    const { dns, observer } = await open({ 'docs.shop.test': ['@ A 198.51.100.1'] });
    const before = await observer.observe(apex);
    dns.edit('docs.shop.test', { remove: ['@ A 198.51.100.1'], add: ['@ A 192.0.2.10'] });
    const { observation: seen } = await observer.observeAgain(apex, comparedWith(before));
    expect(seen.world).toHaveLength(1);
    // A right record always gets a full check.
    expect((await observer.observeAgain(apex, comparedWith(seen))).kind).toBe('observed');
  });

  it('has its CAA set compared if that was the problem', async () => {
    const lines = ['@ A 192.0.2.10', '@ CAA 0 issue "ca.example"'];
    const { dns, observer } = await open({ 'docs.shop.test': lines });
    const before = await observer.observe(apex);
    expect((await observer.observeAgain(apex, comparedWith(before))).kind).toBe('unchanged');
    dns.edit('docs.shop.test', { remove: lines.slice(1) });
    expect((await observer.observeAgain(apex, comparedWith(before))).kind).toBe('observed');
  });
});

describe('a hostname in a delegated zone', () => {
  it.each([
    ['typed in full', 'a.sub.shop.test'],
    ['typed relative to the domain', 'a.sub'],
  ])('is also queried where it ends up if %s', async (_how, typed) => {
    const { observer } = await open({ 'sub.shop.test': [`${typed} CNAME p1.edge.test.`] });
    const { doubled, wrongHosts } = (await observer.observe(inside)).nearby;
    expect(doubled?.name).toBe('a.sub.shop.test.sub.shop.test');
    expect(wrongHosts.map(({ name }) => name)).toEqual([
      'www.a.sub.shop.test',
      'sub.shop.test',
      'a.sub.sub.shop.test',
    ]);
    const found = [doubled, ...wrongHosts].filter((one) => one?.cname.kind === 'records');
    expect(found).toMatchObject([{ name: `${typed}.sub.shop.test`, cname: { records: [target] } }]);
  });

  it('is right with its CNAME', async () => {
    const { observer } = await open({ 'sub.shop.test': ['a CNAME p1.edge.test.'] });
    const seen = await observer.observe(inside);
    expect(seen.world).toMatchObject([{ cname: { records: [target] } }]);
    expect(seen.nearby.sibling).not.toBeNull();
  });
});

describe('the record shown by the doctor', () => {
  it.each([
    [apex.hostname, { 'docs.shop.test': ['@ A 192.0.2.10'] }, { type: 'ALIAS', name: '@' }],
    [inside.hostname, { 'sub.shop.test': [] }, { type: 'CNAME', name: 'a' }],
    [inside.hostname, {}, { type: 'CNAME', name: 'a.sub' }],
  ])('for %s is relative to the zone that was found', async (hostname, zones, record) => {
    const { observer } = await open(zones);
    const parts = { observer, authorities: async () => [ca], allowPrivate: true };
    expect(await examine(parts, { hostname, target })).toMatchObject({ record });
  });
});
