import { afterEach, describe, expect, it } from 'vitest';
import type { CaaLevel } from '../../src/core/diagnosis/observation.ts';
import { registrableDomain } from '../../src/dns/servers/zone.ts';
import vectors from '../vectors/caa.json' with { type: 'json' };
import { asked, caaOf, closeAll, openTestLab } from './test-lab.ts';

afterEach(closeAll);

const hostname = 'docs.shop.test';
const issue = 'CAA 0 issue "ca.example"';
const set = [{ flags: 0, tag: 'issue', value: 'ca.example' }];

/** `docs.shop.test: nodata, shop.test: records`. */
const shown = (levels: readonly CaaLevel[] | null) =>
  levels?.map(({ name, answer }) => `${name}: ${answer.kind}`).join(', ');

describe.each([true, false])('CAA tree climbing (authoritative view: %s)', (authoritative) => {
  const open = (zones: Record<string, string[]>, timeoutMs = 2_000) =>
    openTestLab(zones, { authoritative, timeoutMs });

  it.each<[string, Record<string, string[]>, string]>([
    [
      'ends at a record set of the name itself',
      { 'shop.test': [`docs ${issue}`, `@ ${issue}`] },
      'docs.shop.test: records',
    ],
    [
      'continues at the domain',
      { 'shop.test': ['docs A 192.0.2.1', `@ ${issue}`] },
      'docs.shop.test: nodata, shop.test: records',
    ],
    [
      'continues above a nonexistent name',
      { 'shop.test': [`@ ${issue}`] },
      'docs.shop.test: nxdomain, shop.test: records',
    ],
    [
      'reaches the top level, but not the root',
      { 'shop.test': [], test: [`@ ${issue}`] },
      'docs.shop.test: nxdomain, shop.test: nodata, test: records',
    ],
    [
      'can end without a record set',
      { 'shop.test': ['docs A 192.0.2.1'] },
      'docs.shop.test: nodata, shop.test: nodata, test: nodata',
    ],
    [
      'attributes a record set behind an alias to the level of the alias',
      { 'shop.test': ['docs CNAME p1.edge.test.', `@ ${issue}`], 'edge.test': [`p1 ${issue}`] },
      'docs.shop.test: records',
    ],
    [
      'attributes a record set behind two aliases to the level of the first',
      { 'shop.test': ['docs CNAME mid', 'mid CNAME p1.edge.test.'], 'edge.test': [`p1 ${issue}`] },
      'docs.shop.test: records',
    ],
    [
      'never climbs from the target of an alias',
      {
        'shop.test': ['docs CNAME p1.edge.test.', `@ ${issue}`],
        'edge.test': ['p1 A 192.0.2.1', '@ CAA 0 issue "other.example"'],
      },
      'docs.shop.test: nodata, shop.test: records',
    ],
    [
      'continues above a dangling alias',
      { 'shop.test': ['docs CNAME gone.edge.test.', `@ ${issue}`], 'edge.test': [] },
      'docs.shop.test: nxdomain, shop.test: records',
    ],
    [
      'fails on a loop of aliases',
      { 'shop.test': ['docs CNAME a', 'a CNAME docs', `@ ${issue}`] },
      'docs.shop.test: servfail',
    ],
    [
      'fails on a chain of nine aliases',
      {
        'shop.test': [
          'docs CNAME n1',
          ...Array.from({ length: 8 }, (_, i) => `n${i + 1} CNAME n${i + 2}`),
          `n9 ${issue}`,
        ],
      },
      'docs.shop.test: servfail',
    ],
  ])('%s', async (_title, zones, expected) => {
    const { observer } = await open(zones);
    const levels = await caaOf(observer, hostname);
    expect(shown(levels)).toBe(expected);
    const { answer } = levels.at(-1) ?? {};
    if (answer?.kind === 'records') expect(answer.records).toEqual(set);
  });

  it.each<[string, string[], (string | undefined)[]]>([
    ['directly', [], [undefined, undefined, undefined]],
    ['behind its alias', ['docs CNAME p1.edge.test.'], ['p1.edge.test']],
    ['behind two aliases', ['docs CNAME m', 'm CNAME p1.edge.test.'], ['p1.edge.test']],
    ['behind a dangling alias', ['docs CNAME no'], ['no.shop.test', undefined, undefined]],
    ['at no name, for a loop', ['docs CNAME m', 'm CNAME docs'], [undefined]],
  ])('reports the name that publishes a level: %s', async (_where, shop, expected) => {
    const { observer } = await open({ 'shop.test': shop, 'edge.test': [`p1 ${issue}`] });
    const levels = await caaOf(observer, hostname);
    expect(levels.map(({ publishedAt }) => publishedAt)).toEqual(expected);
  });

  it.each([
    ['servfail', 'servfail'],
    ['refused', 'refused'],
    ['garbage', 'servfail'],
    ['timeout', 'timeout'],
  ] as const)(
    'stops at a level with the fault %s, as it can hide a record set',
    async (fault, kind) => {
      const { dns, observer } = await open({ 'shop.test': ['docs A 192.0.2.1', `@ ${issue}`] }, 50);
      dns.fail(hostname, 'CAA', fault);
      expect(shown(await caaOf(observer, hostname))).toBe(`docs.shop.test: ${kind}`);
      expect(asked(dns).some((one) => one.startsWith('shop.test CAA'))).toBe(false);
    },
  );

  it('ignores a failure above the record set it found', async () => {
    const { dns, observer } = await open({ 'shop.test': [`docs ${issue}`] });
    dns.fail('shop.test', 'CAA', 'servfail');
    expect(shown(await caaOf(observer, hostname))).toBe('docs.shop.test: records');
  });

  it('fails when the top level does not exist', async () => {
    const { observer } = await open({ 'shop.test': [] });
    // The authoritative view does not trust a resolver about a name without a registry, and asks nothing.
    expect(shown(await caaOf(observer, 'shop.nowhere'))).toBe(
      authoritative ? '' : 'shop.nowhere: nxdomain, nowhere: servfail',
    );
  });

  it('reads flags, tags and values as they are published', async () => {
    const lines = ['@ CAA 128 iSsUe "ca.example; policy=ev"', '@ CAA 0 iodef "mailto:ü@x"'];
    const { observer } = await open({ 'shop.test': lines });
    const [level] = await caaOf(observer, 'shop.test');
    expect(level?.answer).toMatchObject({
      records: [
        { flags: 128, tag: 'iSsUe', value: 'ca.example; policy=ev' },
        { flags: 0, tag: 'iodef', value: 'mailto:\\195\\188@x' },
      ],
    });
  });
});

describe('CAA climbing in a check, which assumes that the record exists', () => {
  const checkTarget = { hostname, target: 'p1.edge.test', apex: false };
  const climbOf = async (zones: Record<string, string[]>, authoritative = true) => {
    const { dns, observer } = await openTestLab(zones, { authoritative });
    const { caa } = await observer.observe(checkTarget);
    return { dns, levels: shown(caa) };
  };

  it.each<[string, string[], string[], string]>([
    ['is missing', [`@ ${issue}`], [], 'docs.shop.test: nodata, shop.test: records'],
    [
      'leads elsewhere, where a CAA set exists',
      ['docs CNAME www', `www ${issue}`],
      [],
      'docs.shop.test: nodata, shop.test: nodata, test: nodata',
    ],
    [
      'has CAA records that a CNAME will replace',
      ['docs A 192.0.2.1', `docs ${issue}`],
      [],
      'docs.shop.test: nodata, shop.test: nodata, test: nodata',
    ],
    ['is missing while the target has a CAA set', [], [`p1 ${issue}`], 'docs.shop.test: records'],
    [
      'is correct',
      ['docs CNAME p1.edge.test.', `@ ${issue}`],
      [],
      'docs.shop.test: nodata, shop.test: records',
    ],
  ])('for a record that %s', async (_what, shop, edge, expected) => {
    const zones = { 'shop.test': shop, 'edge.test': ['p1 A 192.0.2.10', ...edge] };
    expect((await climbOf(zones)).levels).toBe(expected);
  });

  it.each<[string, string[], string]>([
    ['the target', ['p1 A 192.0.2.10'], 'p1.edge.test'],
    ['the target with a set', [`p1 ${issue}`], 'p1.edge.test'],
    ["the end of the target's alias", ['p1 CNAME lb', `lb ${issue}`], 'lb.edge.test'],
  ])('reports that its first level is published at %s', async (_where, edge, at) => {
    for (const authoritative of [true, false]) {
      const { observer } = await openTestLab(
        { 'shop.test': [], 'edge.test': edge },
        { authoritative },
      );
      const [own, ...above] = (await observer.observe(checkTarget)).caa ?? [];
      expect(own).toMatchObject({ name: hostname, publishedAt: at });
      expect(above.filter(({ publishedAt }) => publishedAt !== undefined)).toEqual([]);
    }
  });

  it('reports the publisher of a level that fails', async () => {
    const zones = { 'shop.test': [], 'edge.test': ['p1 CNAME lb'] };
    const { dns, observer } = await openTestLab(zones);
    dns.fail('.edge.test', 'CAA', 'servfail');
    expect((await observer.observe(checkTarget)).caa).toMatchObject([
      { name: hostname, publishedAt: 'p1.edge.test', answer: { kind: 'servfail' } },
    ]);
  });

  it('never queries CAA at the hostname itself', async () => {
    const { dns } = await climbOf({ 'shop.test': ['docs A 192.0.2.1'], 'edge.test': [] });
    expect(asked(dns).filter((one) => one.startsWith(`${hostname} CAA`))).toEqual([]);
  });

  it('queries the target’s own servers when the resolver fails', async () => {
    const { dns, observer } = await openTestLab({
      'shop.test': [],
      'edge.test': [`p1 ${issue}`],
    });
    dns.fail('p1.edge.test', 'CAA', 'servfail', 'recursive');
    expect(shown((await observer.observe(checkTarget)).caa)).toBe('docs.shop.test: records');
  });

  it('for an apex starts with its own record set', async () => {
    const { observer } = await openTestLab({ 'shop.test': [`@ ${issue}`], 'edge.test': [] });
    const seen = await observer.observe({ ...checkTarget, hostname: 'shop.test', apex: true });
    expect(shown(seen.caa)).toBe('shop.test: records');
  });

  it('uses resolvers in the recursive view', async () => {
    const zones = { 'shop.test': [`@ ${issue}`], 'edge.test': ['p1 A 192.0.2.10'] };
    expect((await climbOf(zones, false)).levels).toBe('docs.shop.test: nodata, shop.test: records');
  });

  it('is skipped when no server answered for the name', async () => {
    const { dns, observer } = await openTestLab({ 'shop.test': [] });
    dns.fail(hostname, '*', 'refused');
    expect((await observer.observe(checkTarget)).caa).toBeNull();
  });
});

type Shared = (typeof vectors.vectors)[number];

function testLabOf(vector: Shared) {
  const zones: Record<string, string[]> = { [registrableDomain(vector.request)]: [] };
  const faults: [string, 'servfail' | 'timeout'][] = [];
  for (const [name, held] of Object.entries(vector.zone)) {
    const zone = registrableDomain(name);
    zones[zone] ??= [];
    if (typeof held === 'string') faults.push([name, held === 'TIMEOUT' ? 'timeout' : 'servfail']);
    else if (Array.isArray(held)) {
      const lines = held.map(
        (one) => `${name}. CAA ${one.flags} ${one.tag} ${JSON.stringify(one.value)}`,
      );
      zones[zone].push(...lines);
    } else {
      zones[zone].push(`${name}. CNAME ${held.cname}.`);
      zones[registrableDomain(held.cname)] ??= [];
    }
  }
  return { zones, faults };
}

describe('the shared CAA vectors', () => {
  it.each(vectors.vectors)('$id: the lookup for $request ends where it must', async (vector) => {
    const { zones, faults } = testLabOf(vector);
    const { dns, observer } = await openTestLab(zones, {
      timeoutMs: faults.length > 0 ? 50 : 2_000,
    });
    for (const [name, fault] of faults) dns.fail(name, 'CAA', fault);
    const last = (await caaOf(observer, vector.request)).at(-1);
    const foundAt = 'foundAt' in vector ? vector.foundAt : undefined;
    if (foundAt !== undefined)
      expect(last).toMatchObject({ name: foundAt, answer: { kind: 'records' } });
    else if (vector.expect === 'unknown') expect(last?.answer.kind).toMatch(/servfail|timeout/);
    else expect(last?.answer.kind).toBe('nodata');
  });
});
