/** Resolvers that filter or are broken deny names that exist; what the zone's own servers say must outweigh that. */
import { afterEach, describe, expect, it } from 'vitest';
import type { LabFault } from '../../src/lab/faults.ts';
import { closeAll, openDns, openLaboratory } from './laboratory.ts';

afterEach(closeAll);

const target = 'p1.edge.test';
const subdomain = { hostname: 'docs.shop.test', target, apex: false };
const apex = { hostname: 'shop.test', target, apex: true };
const right = 'docs CNAME p1.edge.test.';
const address = '@ A 192.0.2.10';

/** Zones whose servers are the honest ones, at 127.0.0.1. */
const zones = (shop: readonly string[], edge: readonly string[] = ['p1 A 192.0.2.10']) => {
  const honest = (lines: readonly string[]) => ['@ NS ns1', 'ns1 A 127.0.0.1', ...lines];
  return { test: honest([]), 'shop.test': honest(shop), 'edge.test': honest(edge) };
};

/** An observer whose resolver, at another address, denies `name TYPE` for each of `denied`. */
async function openDenying(
  held: Record<string, readonly string[]>,
  denied: readonly string[],
  fault: LabFault = 'nxdomain',
  authoritative = true,
) {
  const honest = await openDns(held);
  const resolver = await openDns(held, honest.port, '127.0.0.9');
  for (const one of denied) {
    const [name = '', type = '*'] = one.split(' ');
    resolver.fail(name, type, fault);
  }
  const { observer } = await openLaboratory(
    {},
    {
      servers: [{ address: resolver.address, port: resolver.port }],
      authorityPort: honest.port,
      authoritative,
    },
  );
  return observer;
}

describe.each(['nxdomain', 'nodata'] as const)('a resolver that says %s', (fault) => {
  it('of a domain cannot hide what the domain’s own servers show', async () => {
    const observer = await openDenying(zones([right]), ['shop.test', subdomain.hostname], fault);
    const { servers } = await observer.observe(subdomain);
    expect(servers).toMatchObject([
      { server: 'ns1.shop.test', cname: { kind: 'records', records: [target] } },
    ]);
  });

  it.each([
    ['subdomain', subdomain],
    ['apex', apex],
  ])(
    'of a whole top level leaves a %s open: nothing is known to be missing',
    async (_what, checkTarget) => {
      const observer = await openDenying(zones([right]), ['shop.test', 'test'], fault);
      const { servers } = await observer.observe(checkTarget);
      expect(servers).toMatchObject([{ server: '127.0.0.9', cname: { kind: 'servfail' } }]);
      const levels = await observer.lookupCaa(checkTarget.hostname);
      expect(levels).toEqual([{ name: checkTarget.hostname, answer: { kind: 'servfail' } }]);
    },
  );

  it('of a name server’s address leaves the name open', async () => {
    const observer = await openDenying(zones([right]), ['ns1.shop.test'], fault);
    const { servers } = await observer.observe(subdomain);
    expect(servers).toMatchObject([{ server: 'ns1.shop.test', cname: { kind: 'servfail' } }]);
  });

  it('of the target makes no address of ours a foreign one', async () => {
    const observer = await openDenying(zones([address]), [target], fault);
    const seen = await observer.observe(apex);
    expect(seen.targetAddresses).toEqual(['192.0.2.10']);
    expect(seen.caa).not.toBeNull();
  });

  it('of the target’s CAA records does not let those of the domain forbid, in a check', async () => {
    const held = zones(
      [right, '@ CAA 0 issue "other.example"'],
      ['p1 CAA 0 issue "ours.example"', 'p1 A 192.0.2.10'],
    );
    const observer = await openDenying(held, [target], fault);
    const { caa } = await observer.observe(subdomain);
    expect(caa).toMatchObject([
      { name: subdomain.hostname, answer: { records: [{ value: 'ours.example' }] } },
    ]);
  });

  it('of the target’s CAA records does not let those of the domain forbid', async () => {
    const held = zones(
      [right, '@ CAA 0 issue "other.example"'],
      ['p1 CAA 0 issue "ours.example"', 'p1 A 192.0.2.10'],
    );
    const observer = await openDenying(held, [target], fault);
    const [level] = await observer.lookupCaa(subdomain.hostname);
    expect(level).toMatchObject({
      name: subdomain.hostname,
      answer: { records: [{ value: 'ours.example' }] },
    });
  });
});

describe('what makes a domain wrong', () => {
  it('is the registry’s own word that the domain is not sold', async () => {
    const observer = await openDenying(zones([]), []);
    const { servers } = await observer.observe({ ...subdomain, hostname: 'docs.unsold.test' });
    expect(servers).toMatchObject([{ server: 'ns1.test', cname: { kind: 'nxdomain' } }]);
  });

  it('is no CAA set of the target that only the resolver has seen', async () => {
    const honest = await openDns(zones([right]));
    const resolver = await openDns(
      zones([right], ['p1 A 192.0.2.10', 'p1 CAA 0 issue "other.example"']),
      honest.port,
      '127.0.0.9',
    );
    const servers = [{ address: resolver.address, port: resolver.port }];
    const { observer } = await openLaboratory({}, { servers, authorityPort: honest.port });
    const { caa } = await observer.observe(subdomain);
    expect(caa?.map(({ name, answer }) => `${name}: ${answer.kind}`)).toEqual([
      'docs.shop.test: nodata',
      'shop.test: nodata',
      'test: nodata',
    ]);
  });

  it('is no CAA set of a top level that only the resolver has seen', async () => {
    const honest = await openDns(zones([right]));
    const forging = zones([right]);
    const resolver = await openDns(
      { ...forging, test: [...forging.test, '@ CAA 0 issue "other.example"'] },
      honest.port,
      '127.0.0.9',
    );
    const servers = [{ address: resolver.address, port: resolver.port }];
    const { observer } = await openLaboratory({}, { servers, authorityPort: honest.port });
    const levels = await observer.lookupCaa(subdomain.hostname);
    expect(levels.at(-1)).toEqual({ name: 'test', answer: { kind: 'nodata' } });
  });

  it('is the resolver’s word where only resolvers are asked', async () => {
    const observer = await openDenying(zones([right]), [subdomain.hostname], 'nxdomain', false);
    const { servers } = await observer.observe(subdomain);
    expect(servers).toMatchObject([{ server: '127.0.0.9', cname: { kind: 'nxdomain' } }]);
  });
});
