/** The next check detects a repair, wherever it was. */
import { afterEach, describe, expect, it } from 'vitest';
import { asked, BRIEF_MS, closeAll, comparedWith, openDns, openTestLab } from './test-lab.ts';

afterEach(closeAll);

const target = 'p1.edge.test';
const apex = { hostname: 'shop.test', target, apex: true };
const checkTarget = { hostname: 'docs.shop.test', target, apex: false };
const deep = { hostname: 'docs.eu.shop.test', target, apex: false };
const edge = ['p1 A 192.0.2.10'];

describe('an apex', () => {
  it('whose target could not be resolved is checked again', async () => {
    const { dns, observer } = await openTestLab({
      'shop.test': ['@ A 192.0.2.10'],
      'edge.test': edge,
    });
    dns.fail(target, 'A', 'servfail');
    const before = await observer.observe(apex);
    expect(before.targetAddresses).toEqual([]);
    dns.heal();
    expect(
      (await observer.observeAgain(apex, comparedWith(before))).observation.world,
    ).toHaveLength(1);
  });

  it.each([
    ['change to those of the record', ['p1 A 192.0.2.77'], false],
    ['do not change', edge, true],
  ])('is checked again when our addresses %s', async (_what, after, holds) => {
    const { dns, observer } = await openTestLab({
      'shop.test': ['@ A 192.0.2.77'],
      'edge.test': edge,
    });
    const before = await observer.observe(apex);
    await dns.setZone('edge.test', after);
    const { kind, observation } = await observer.observeAgain(apex, comparedWith(before));
    expect(kind).toBe(holds ? 'unchanged' : 'observed');
    expect(observation.world).toHaveLength(holds ? 0 : 1);
  });

  it('whose servers failed for AAAA is checked again', async () => {
    const two = ['@ NS ns1', '@ NS ns2', 'ns1 A 127.0.0.1', 'ns2 A 127.0.0.2', '@ A 192.0.2.10'];
    const dns = await openDns({ 'shop.test': two, 'edge.test': edge });
    const other = await openDns({ 'shop.test': two }, dns.port, '127.0.0.2');
    const servers = [{ address: dns.address, port: dns.port }];
    const { observer } = await openTestLab({}, { servers, authorityPort: dns.port });
    for (const one of [dns, other]) one.fail('shop.test', 'AAAA', 'servfail', 'authority');
    const before = await observer.observe(apex);
    expect(before.world).toEqual([]);
    other.heal();
    expect(
      (await observer.observeAgain(apex, comparedWith(before))).observation.servers,
    ).toMatchObject([{ aaaa: { kind: 'servfail' } }, { aaaa: { kind: 'nodata' } }]);
  });
});

describe('invalid signatures', () => {
  const zones = { 'shop.test': ['docs CNAME p1.edge.test.'], 'edge.test': edge };
  const bogus = { kind: 'bogus', errors: [{ code: 7, text: '' }] } as const;

  it.each(['timeout', 'servfail'] as const)(
    'are detected as repaired by the second resolver when the first answers %s',
    async (fault) => {
      const dns = await openDns(zones);
      const [first, second] = [
        await openDns(zones, dns.port, '127.0.0.10'),
        await openDns(zones, dns.port, '127.0.0.11'),
      ];
      const servers = [first, second].map(({ address, port }) => ({ address, port }));
      const options = { servers, authorityPort: dns.port, timeoutMs: BRIEF_MS };
      const { observer } = await openTestLab({}, options);
      first.fail(checkTarget.hostname, '*', fault, 'recursive');
      second.fail(checkTarget.hostname, '*', bogus, 'recursive');
      const before = await observer.observe(checkTarget);
      expect((await observer.observeAgain(checkTarget, comparedWith(before))).kind).toBe(
        'unchanged',
      );
      second.heal();
      expect(
        (await observer.observeAgain(checkTarget, comparedWith(before))).observation.world,
      ).toMatchObject([{ cname: { kind: fault } }, { cname: { records: [target] } }]);
    },
  );

  it('reported by a resolver that is no longer configured are checked again', async () => {
    const { dns, observer } = await openTestLab(zones);
    dns.fail(checkTarget.hostname, 'A', bogus, 'recursive');
    const before = await observer.observe(checkTarget);
    const [view] = before.world;
    if (view === undefined) throw new Error('no resolver was queried');
    const previous = { ...before, world: [{ ...view, server: '127.0.0.66' }] };
    expect((await observer.observeAgain(checkTarget, comparedWith(previous))).kind).toBe(
      'observed',
    );
  });
});

describe('a name several levels deep', () => {
  const set = 'CAA 0 issue "other.example"';

  it('is checked again when a closer CAA set permits issuance', async () => {
    const lines = ['docs.eu CNAME p1.edge.test.', `@ ${set}`];
    const { dns, observer } = await openTestLab({ 'shop.test': lines, 'edge.test': edge });
    const before = await observer.observe(deep);
    expect((await observer.observeAgain(deep, comparedWith(before))).kind).toBe('unchanged');
    dns.edit('shop.test', { add: ['eu CAA 0 issue "ca.example"'] });
    expect(
      (await observer.observeAgain(deep, comparedWith(before))).observation.caa?.at(-1),
    ).toMatchObject({
      name: 'eu.shop.test',
    });
  });

  it('in a delegated zone is compared correctly when only the parent zone is cached', async () => {
    const zones = { 'shop.test': [], 'eu.shop.test': ['docs A 198.51.100.1'], 'edge.test': edge };
    const { dns, observer } = await openTestLab(zones);
    const before = await observer.observe(deep);
    const config = { servers: [{ address: dns.address, port: dns.port }], authorityPort: dns.port };
    const { observer: fresh } = await openTestLab({}, config);
    expect((await fresh.observeAgain(deep, comparedWith(before))).kind).toBe('unchanged');
    dns.forget();
    dns.edit('eu.shop.test', { add: ['docs A 198.51.100.2'] });
    expect((await fresh.observeAgain(deep, comparedWith(before))).kind).toBe('observed');
    expect(asked(dns)).not.toEqual([]);
  });
});
