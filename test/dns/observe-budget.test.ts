/** With hostile servers, a check ends in time and reports what it left out. */
import { afterEach, describe, expect, it } from 'vitest';
import { defaultLimits } from '../../src/dns/wire/budget.ts';
import { asked, closeAll, openDns, openTestLab } from './test-lab.ts';

afterEach(closeAll);

const hostname = 'docs.shop.test';
const target = 'p1.edge.test';
const checkTarget = { hostname, target, apex: false };
const right = 'docs CNAME p1.edge.test.';
const edge = ['p1 A 192.0.2.10'];

describe('a check', () => {
  it('sends at most the allowed number of queries and reports the rest as timeouts', async () => {
    const limits = { ...defaultLimits, questions: 5 };
    const zones = { 'shop.test': [right], 'edge.test': edge };
    const { dns, observer } = await openTestLab(zones, { limits });
    const { caa, servers, cost } = await observer.observe(checkTarget);
    expect(asked(dns)).toHaveLength(5);
    expect(cost.questions).toBe(5);
    expect(servers).toMatchObject([{ cname: { kind: 'records' } }]);
    expect(caa).toEqual([{ name: hostname, publishedAt: target, answer: { kind: 'timeout' } }]);
  });

  it.each([0, 1, 2, 3, 4])('limited to %i queries has no verdict', async (questions) => {
    const limits = { ...defaultLimits, questions };
    const zones = { 'shop.test': [right], 'edge.test': edge };
    const { dns, observer } = await openTestLab(zones, { limits });
    const { servers, caa } = await observer.observe(checkTarget);
    expect(servers).toMatchObject([{ cname: { kind: 'timeout' } }]);
    expect(caa).toBeNull();
    expect(asked(dns)).toHaveLength(questions);
  });

  it('ends in time when servers delay their responses', async () => {
    const limits = { ...defaultLimits, ms: 1_500 }; // undelayed responses need time to arrive
    const zones = { 'shop.test': [right], 'edge.test': edge };
    const { dns, observer } = await openTestLab(zones, { limits, timeoutMs: 60_000 });
    dns.fail('.', 'CAA', 'hold');
    dns.fail('shop.test', 'CAA', 'hold');
    const { servers, caa } = await observer.observe(checkTarget);
    expect(servers).toMatchObject([{ cname: { kind: 'records' } }]);
    expect(caa).toEqual([{ name: hostname, publishedAt: target, answer: { kind: 'timeout' } }]);
  });

  it('receives at most 64 KiB of garbage', async () => {
    const numbers = [1, 2, 3, 4];
    const lines = numbers.flatMap((n) => [`@ NS ns${n}`, `ns${n} A 127.0.0.${n}`]);
    const dns = await openDns({ 'shop.test': lines });
    for (const n of numbers.slice(1)) {
      const other = await openDns({ 'shop.test': lines }, dns.port, `127.0.0.${n}`);
      other.fail(hostname, '*', 'flood'); // 40,000 octets each time
    }
    dns.fail(hostname, '*', 'flood');
    const servers = [{ address: dns.address, port: dns.port }];
    const { observer } = await openTestLab({}, { servers, authorityPort: dns.port });
    const seen = await observer.observe(checkTarget);
    expect(seen.servers).toHaveLength(4);
    expect(seen.servers.filter(({ cname }) => cname.kind === 'timeout').length).toBeGreaterThan(2);
    expect(seen.caa).toBeNull();
  });

  it('ends when servers refer ever deeper', async () => {
    const labels = Array.from({ length: 12 }, (_, i) => `l${i}`);
    const zones = Object.fromEntries(
      labels.map((_, i) => [[...labels.slice(0, i).toReversed(), 'shop.test'].join('.'), []]),
    );
    const { observer } = await openTestLab(zones);
    const deep = `${labels.slice(0, 11).toReversed().join('.')}.shop.test`;
    const { servers, cost } = await observer.observe({ ...checkTarget, hostname: `docs.${deep}` });
    expect(servers).toMatchObject([{ cname: { kind: 'servfail' } }]);
    expect(cost.questions).toBeLessThanOrEqual(defaultLimits.questions);
  });
});
