/** Filtering or broken resolvers deny names that exist; the zone's own servers outweigh them. */
import { afterEach, describe, expect, it } from 'vitest';
import type { LabFault } from '../../src/lab/faults.ts';
import { caaOf, closeAll, openDns, openTestLab } from './test-lab.ts';

afterEach(closeAll);

const target = 'p1.edge.test';
const subdomain = { hostname: 'docs.shop.test', target, apex: false };
const apex = { hostname: 'shop.test', target, apex: true };
const right = 'docs CNAME p1.edge.test.';
const address = '@ A 192.0.2.10';

const zones = (shop: readonly string[], edge: readonly string[] = ['p1 A 192.0.2.10']) => {
  const honest = (lines: readonly string[]) => ['@ NS ns1', 'ns1 A 127.0.0.1', ...lines];
  return { test: honest([]), 'shop.test': honest(shop), 'edge.test': honest(edge) };
};

/** An observer with a resolver at another address that denies each `name TYPE` in `denied`. */
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
  const { observer } = await openTestLab(
    {},
    {
      servers: [{ address: resolver.address, port: resolver.port }],
      authorityPort: honest.port,
      authoritative,
    },
  );
  return observer;
}

describe.each(['nxdomain', 'nodata'] as const)('a resolver that answers %s', (fault) => {
  it('for a domain does not hide what the domain’s own servers show', async () => {
    const observer = await openDenying(zones([right]), ['shop.test', subdomain.hostname], fault);
    const { servers } = await observer.observe(subdomain);
    expect(servers).toMatchObject([
      { server: 'ns1.shop.test', cname: { kind: 'records', records: [target] } },
    ]);
  });

  it.each([
    ['subdomain', subdomain],
    ['apex', apex],
  ])('for a whole top level leaves a %s unknown, not missing', async (_what, checkTarget) => {
    const observer = await openDenying(zones([right]), ['shop.test', 'test'], fault);
    const { servers, caa } = await observer.observe(checkTarget);
    expect(servers).toMatchObject([{ server: '127.0.0.9', cname: { kind: 'servfail' } }]);
    expect(caa).toBeNull();
  });

  it('for a name server’s address leaves the name unknown', async () => {
    const observer = await openDenying(zones([right]), ['ns1.shop.test'], fault);
    const { servers } = await observer.observe(subdomain);
    expect(servers).toMatchObject([{ server: 'ns1.shop.test', cname: { kind: 'servfail' } }]);
  });

  it('for the target does not turn our own address into a foreign one', async () => {
    const observer = await openDenying(zones([address]), [target], fault);
    const seen = await observer.observe(apex);
    expect(seen.targetAddresses).toEqual(['192.0.2.10']);
    expect(seen.caa).not.toBeNull();
  });

  it("for the target’s CAA records does not let the domain's records forbid issuance", async () => {
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
});

describe('a resolver-only answer', () => {
  it('is not needed when the registry says that the domain is unregistered', async () => {
    const observer = await openDenying(zones([]), []);
    const { servers } = await observer.observe({ ...subdomain, hostname: 'docs.unsold.test' });
    expect(servers).toMatchObject([{ server: 'ns1.test', cname: { kind: 'nxdomain' } }]);
  });

  it('is not trusted for a CAA set of the target', async () => {
    const honest = await openDns(zones([right]));
    const resolver = await openDns(
      zones([right], ['p1 A 192.0.2.10', 'p1 CAA 0 issue "other.example"']),
      honest.port,
      '127.0.0.9',
    );
    const servers = [{ address: resolver.address, port: resolver.port }];
    const { observer } = await openTestLab({}, { servers, authorityPort: honest.port });
    const { caa } = await observer.observe(subdomain);
    expect(caa?.map(({ name, answer }) => `${name}: ${answer.kind}`)).toEqual([
      'docs.shop.test: nodata',
      'shop.test: nodata',
      'test: nodata',
    ]);
  });

  it('is not trusted for a CAA set of a top level', async () => {
    const honest = await openDns(zones([right]));
    const forging = zones([right]);
    const resolver = await openDns(
      { ...forging, test: [...forging.test, '@ CAA 0 issue "other.example"'] },
      honest.port,
      '127.0.0.9',
    );
    const servers = [{ address: resolver.address, port: resolver.port }];
    const { observer } = await openTestLab({}, { servers, authorityPort: honest.port });
    const levels = await caaOf(observer, subdomain.hostname);
    expect(levels.at(-1)).toEqual({ name: 'test', answer: { kind: 'nodata' } });
  });

  it('is trusted in the recursive view', async () => {
    const observer = await openDenying(zones([right]), [subdomain.hostname], 'nxdomain', false);
    const { servers } = await observer.observe(subdomain);
    expect(servers).toMatchObject([{ server: '127.0.0.9', cname: { kind: 'nxdomain' } }]);
  });
});
