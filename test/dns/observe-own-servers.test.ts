/** Servers that only the zone's own NS set names: some resolvers query those as well. */
import { afterEach, describe, expect, it } from 'vitest';
import { asked, closeAll, comparedWith, openDns, openTestLab } from './test-lab.ts';

afterEach(closeAll);

const target = 'p1.edge.test';
const hostname = 'docs.shop.test';
const checkTarget = { hostname, target, apex: false };
const right = 'docs CNAME p1.edge.test.';
const registry = ['@ NS ns1', 'ns1 A 127.0.0.1'];

/** The delegation and the NS set name these servers, at 127.0.0.2; `lag` ones at 127.0.0.3. */
async function open(
  atParent: readonly string[],
  atZone: readonly string[],
  { lag = [] as readonly string[], lines = [right], old = [] as readonly string[] } = {},
) {
  const at = (name: string) => `${name} A ${lag.includes(name) ? '127.0.0.3' : '127.0.0.2'}`;
  const all = [...new Set([...atParent, ...atZone])];
  const glue = atParent.flatMap((name) => [
    `shop NS ${name}.shop`,
    at(name).replace(' ', '.shop '),
  ]);
  const dns = await openDns({ test: [...registry, ...glue] });
  const own = [...atZone.map((name) => `@ NS ${name}`), ...all.map(at)];
  const zone = await openDns({ 'shop.test': [...own, ...lines] }, dns.port, '127.0.0.2');
  const lagging = await openDns({ 'shop.test': [...own, ...old] }, dns.port, '127.0.0.3');
  const known = { test: registry, 'shop.test': [...own, ...lines], 'edge.test': [] };
  const resolver = await openDns(known, dns.port, '127.0.0.9');
  const servers = [{ address: resolver.address, port: resolver.port }];
  // More than four take turns by the hour.
  const now = () => new Date(0);
  const { observer } = await openTestLab({}, { servers, authorityPort: dns.port, now });
  const all4 = [dns, zone, lagging, resolver];
  return {
    observer,
    dns,
    zone,
    lagging,
    forget: () => all4.forEach((one) => void one.forget()),
    count: () => all4.flatMap((one) => asked(one)),
  };
}

const shortNames = (servers: readonly { readonly server: string }[]) =>
  servers.map(({ server }) => server.split('.')[0]).join(' ');

describe('a zone whose own NS set differs from its delegation', () => {
  it.each([
    ['a', 'a b', 'a b'],
    ['b', 'a', 'b a'],
    ['c d', 'a b', 'c d a b'],
    ['b d', 'a b c e', 'b d a c'],
    ['b c d e', 'a b', 'b c d e'],
    ['a b c d e', 'a f', 'a b c d'],
    ['a b', 'a', 'a b'],
  ])('by %s above and %s in it is queried at %s', async (atParent, atZone, expected) => {
    const { observer } = await open(atParent.split(' '), atZone.split(' '));
    const { servers, delegation } = await observer.observe(checkTarget);
    expect(shortNames(servers)).toBe(expected);
    expect(servers.every(({ state }) => state === 'answers')).toBe(true);
    expect(delegation).toMatchObject({ atZone: atZone.split(' ').map((n) => `${n}.shop.test`) });
  });

  it('is not right when a server named only by the zone has another record', async () => {
    const { observer } = await open(['a'], ['a', 'b'], { lag: ['b'], old: ['docs A 192.0.2.1'] });
    const seen = await observer.observe(checkTarget);
    expect(seen.servers).toMatchObject([
      { server: 'a.shop.test', cname: { records: [target] } },
      { server: 'b.shop.test', address: '127.0.0.3', a: { records: ['192.0.2.1'] } },
    ]);
    expect(seen.world).toEqual([]);
  });

  it('is right by the others when such a server does not answer', async () => {
    const { observer, lagging } = await open(['a'], ['a', 'b'], { lag: ['b'] });
    lagging.fail('.', '*', 'refused');
    const seen = await observer.observe(checkTarget);
    expect(seen.servers).toMatchObject([{ state: 'answers' }, { state: 'refused' }]);
    expect(seen.world).toHaveLength(1);
  });

  it('has its own NS set queried once', async () => {
    const { observer, zone } = await open(['a'], ['a', 'b']);
    await observer.observe(checkTarget);
    await observer.observe({ ...checkTarget, hostname: 'www.shop.test' });
    expect(asked(zone).filter((one) => one === 'shop.test NS')).toHaveLength(1);
  });
});

describe('an earlier check of such a zone', () => {
  it('is confirmed by one query to each server and one more', async () => {
    const { observer, forget, count } = await open(['a'], ['a', 'b'], { lines: [] });
    const previous = await observer.observe(checkTarget);
    forget();
    expect((await observer.observeAgain(checkTarget, comparedWith(previous))).kind).toBe(
      'unchanged',
    );
    expect(count().filter((one) => one === `${hostname} A`)).toHaveLength(2);
    expect(count().length).toBeLessThanOrEqual(3);
  });

  it('is repeated when only a server named by the zone alone has changed', async () => {
    const { observer, lagging } = await open(['a'], ['a', 'b'], { lag: ['b'], lines: [] });
    const previous = await observer.observe(checkTarget);
    lagging.edit('shop.test', { add: [right] });
    const { observation } = await observer.observeAgain(checkTarget, comparedWith(previous));
    expect(observation.servers.map(({ cname }) => cname.kind)).toEqual(['nxdomain', 'records']);
  });
});
