/** What resolvers are asked about a zone's signatures beside the host name, and when. */
import { afterEach, describe, expect, it } from 'vitest';
import type { LabFault } from '../../src/lab/faults.ts';
import { asked, closeAll, comparedWith, openDns, openLaboratory } from './laboratory.ts';
import { checkTarget, hostname, right } from './two-servers.ts';

afterEach(closeAll);

const bogus = { kind: 'bogus', errors: [{ code: 12, text: '' }] } as const;
const two = ['@ NS ns1', '@ NS ns2', 'ns1 A 127.0.0.1', 'ns2 A 127.0.0.1'];
const zonesWith = (lines: readonly string[]) => ({
  'shop.test': [...two, ...lines],
  'edge.test': ['p1 A 192.0.2.10'],
});

/** Resolvers that have checked the signatures of shop.test, beside the zone's own server. */
async function openSigned(lines: readonly string[], count = 1) {
  const zones = zonesWith(lines);
  const dns = await openDns(zones);
  const addresses = Array.from({ length: count }, (_, nth) => `127.0.0.${nth + 10}`);
  const signed = { signed: ['shop.test'] };
  const resolvers = await Promise.all(
    addresses.map((address) => openDns(zones, dns.port, address, signed)),
  );
  const servers = resolvers.map(({ address, port }) => ({ address, port }));
  const { observer } = await openLaboratory({}, { servers, authorityPort: dns.port });
  return {
    observer,
    resolvers,
    fail: (at: number, fault: LabFault, names: string, type: string) =>
      resolvers[at]?.fail(names, type, fault, 'recursive'),
    heal: () => resolvers.forEach((one) => void one.heal()),
    /** What resolvers were asked of the customer's zone, and everything that was sent. */
    ofResolvers: () => resolvers.flatMap((one) => asked(one)).filter((one) => one.includes('shop')),
    count: () => [dns, ...resolvers].flatMap((one) => asked(one)).length,
    forget: () => [dns, ...resolvers].forEach((one) => void one.forget()),
  };
}

describe('a zone that is signed', () => {
  it('costs one question more for each level of the climb, by a resolver that validates', async () => {
    const { observer, ofResolvers, forget, count, resolvers } = await openSigned([right]);
    await observer.observe(checkTarget);
    forget();
    const { signatures } = await observer.observe(checkTarget);
    expect(count()).toBe(8);
    expect(ofResolvers().filter((one) => !one.startsWith('ns'))).toEqual([
      'docs.shop.test A rd',
      'shop.test CAA rd',
    ]);
    const about = resolvers[0]?.questions.filter(
      ({ type, name }) => `${name} ${type}` === 'shop.test CAA',
    );
    expect(about).toMatchObject([{ dnssecOk: true, checkingDisabled: false }]);
    expect(signatures).toMatchObject([{ name: 'shop.test', type: 'CAA', outcome: 'nodata' }]);
  });

  it('is asked for at each level between host name and domain', async () => {
    const { observer, ofResolvers } = await openSigned(['docs.team CNAME p1.edge.test.']);
    await observer.observe({ ...checkTarget, hostname: 'docs.team.shop.test' });
    expect(ofResolvers().filter((one) => one.includes(' CAA'))).toEqual([
      'team.shop.test CAA rd',
      'shop.test CAA rd',
    ]);
  });

  it('is asked for the host name’s own level at an apex', async () => {
    const { observer } = await openSigned(['@ A 192.0.2.10']);
    const apex = { ...checkTarget, hostname: 'shop.test', apex: true };
    expect((await observer.observe(apex)).signatures).toMatchObject([
      { name: 'shop.test', type: 'CAA', outcome: 'nodata' },
    ]);
  });

  it('has a second resolver asked where the first one fails', async () => {
    const { observer, fail } = await openSigned([right], 2);
    fail(0, bogus, 'shop.test', 'CAA');
    expect((await observer.observe(checkTarget)).signatures).toMatchObject([
      { server: '127.0.0.10', outcome: 'servfail', unchecked: 'nodata', answersUnchecked: true },
      { server: '127.0.0.11', outcome: 'nodata' },
    ]);
  });

  it('is asked nothing more where the host name itself is rejected', async () => {
    const { observer, fail } = await openSigned([right]);
    fail(0, bogus, hostname, '*');
    const { signatures, world } = await observer.observe(checkTarget);
    expect(world).toMatchObject([{ answersUnchecked: true }]);
    expect(signatures).toBeUndefined();
  });

  it.each([
    ['is missing', [], ['SOA']],
    ['is an empty one', ['docs TXT "x"'], ['SOA']],
    ['leads elsewhere', ['docs CNAME other.test.'], ['SOA', 'CAA']],
    ['shows an address', ['docs A 192.0.2.1'], ['SOA', 'CAA']],
  ])(
    'is asked for what plants no denial where the host name %s, and never for that itself',
    async (_what, lines, types) => {
      const { observer, ofResolvers } = await openSigned(lines);
      const { signatures } = await observer.observe(checkTarget);
      expect(signatures?.map(({ type }) => type)).toEqual(types);
      expect(ofResolvers().filter((one) => one.startsWith(hostname))).toEqual([]);
    },
  );
});

describe('an earlier observation of bad signatures', () => {
  it.each([
    ['of the denial of CAA', [right], 'shop.test', 'CAA', 3],
    ['in a zone with another CNAME', ['docs CNAME other.test.'], 'shop.test', 'SOA', 3],
    ['in a zone without the record', [], 'shop.test', 'SOA', 3],
  ])('%s holds until a resolver finds them good', async (_what, lines, names, type, questions) => {
    const { observer, fail, heal, count, forget } = await openSigned(lines);
    fail(0, bogus, names, type);
    const previous = await observer.observe(checkTarget);
    expect(previous.signatures?.at(-1)).toMatchObject({ outcome: 'servfail' });
    forget();
    expect(await observer.observe(checkTarget, comparedWith(previous))).toBe(previous);
    expect(count()).toBe(questions);
    heal();
    expect(await observer.observe(checkTarget, comparedWith(previous))).not.toBe(previous);
  });
});
