import { afterEach, describe, expect, it } from 'vitest';
import {
  defaultLimits,
  isSpent,
  mayTryTcp,
  spent,
  startBudget,
  takeBytes,
  takeQuestion,
  tcpOf,
  unlimited,
} from '../../src/dns/wire/budget.ts';
import { until } from '../support/world.ts';
import { BRIEF_MS, caaOf, closeAll, openTestLab } from './test-lab.ts';

afterEach(closeAll);

const target = 'p1.edge.test';
const hostname = 'docs.shop.test';
const edge = ['p1 A 192.0.2.10'];
const subdomain = { hostname, target, apex: false };

describe('a check', () => {
  it('counts retries and queries over TCP', async () => {
    const zones = { 'shop.test': ['@ NS ns1', '@ NS ns2', 'ns1 A 127.0.0.1', 'ns2 A 127.0.0.1'] };
    const limits = { ...defaultLimits, questions: 6 };
    const { dns, observer } = await openTestLab(zones, { limits, timeoutMs: BRIEF_MS });
    dns.fail('shop.test', 'NS', 'truncate');
    dns.fail(hostname, 'A', 'timeout');
    await observer.observe(subdomain);
    // More would be sent: retries over UDP and TCP. The last may still be in flight.
    await until('six queries', async () => dns.questions.length >= 6);
    expect(dns.questions).toHaveLength(6);
    const overTcp = dns.questions.filter(({ transport }) => transport === 'tcp');
    expect(overTcp.length).toBeGreaterThan(0);
  });

  it('does not cache a failure for others when its own time ran out', async () => {
    const zones = { 'shop.test': ['docs CNAME p1.edge.test.'], 'edge.test': edge };
    const limits = { ...defaultLimits, ms: 1_500 }; // the second check has the same budget
    const { dns, observer } = await openTestLab(zones, { limits, timeoutMs: 60_000 });
    dns.fail('shop.test', 'NS', 'timeout');
    const late = await observer.observe(subdomain);
    expect(late.servers).toMatchObject([{ server: '127.0.0.1', cname: { kind: 'timeout' } }]);
    dns.heal();
    const { servers } = await observer.observe(subdomain);
    expect(servers).toMatchObject([{ server: 'ns1.shop.test', cname: { kind: 'records' } }]);
  });

  it('stops querying an address that floods it over TCP, under whatever names it has', async () => {
    const numbers = [1, 2, 3, 4];
    const lines = numbers.flatMap((n) => [`@ NS ns${n}`, `ns${n} A 127.0.0.1`]);
    const { dns, observer } = await openTestLab({ 'shop.test': lines });
    dns.fail(hostname, '*', 'flood'); // 40,000 octets each time
    const { servers } = await observer.observe(subdomain);
    const kinds = servers.map(({ cname }) => cname.kind);
    expect(kinds.filter((kind) => kind !== 'servfail' && kind !== 'timeout')).toEqual([]);
    // Two queries are pending at a time.
    const overTcp = dns.questions.filter(({ transport }) => transport === 'tcp');
    expect(overTcp.length).toBeLessThanOrEqual(2);
  });

  it.each([
    ['fits', 64, 'records'],
    ['does not fit', 8, 'timeout'],
  ])('with a record set of 14 KB %s: %i KiB allowed', async (_what, kib, kind) => {
    const lines = Array.from({ length: 23 }, (_, i) => `docs CAA 0 ca${i} "${'x'.repeat(600)}"`);
    const limits = { ...defaultLimits, bytes: kib * 1024 };
    const { observer } = await openTestLab({ 'shop.test': lines }, { limits });
    const levels = await caaOf(observer, hostname);
    expect(levels).toMatchObject([{ name: hostname, answer: { kind } }]);
  });
});

describe('a budget', () => {
  const limits = { questions: 3, ms: 60_000, bytes: 1_000 };

  it('allows its number of queries, and reports what was spent', () => {
    const budget = startBudget(limits);
    const taken = Array.from({ length: 4 }, () => takeQuestion(budget));
    expect(taken).toEqual([true, true, true, false]);
    expect(isSpent(budget)).toBe(true);
    expect(spent(budget, limits)).toMatchObject({ questions: 3, bytes: 0 });
  });

  it('lets a silent server be tried over TCP once, while queries are left for others', () => {
    const server = { address: '192.0.2.1', port: 53 };
    const other = { ...server, address: '192.0.2.2' };
    const budget = startBudget({ ...limits, questions: 10 });
    expect(mayTryTcp(budget, server)).toBe(true);
    tcpOf(budget, server).outcome = 'fails';
    expect([server, other].map((one) => mayTryTcp(budget, one))).toEqual([false, true]);
    takeQuestion(budget);
    takeQuestion(budget);
    expect(mayTryTcp(budget, other)).toBe(false);
  });

  it('counts the bytes that exceed it', () => {
    const budget = startBudget(limits);
    expect([takeBytes(budget, 1_000), takeBytes(budget, 1)]).toEqual([true, false]);
    expect(spent(budget, limits)).toMatchObject({ questions: 0, bytes: 1_001 });
  });

  it('counts milliseconds from its start', () => {
    const budget = { ...startBudget(limits), deadline: performance.now() + limits.ms - 40 };
    expect(spent(budget, limits).ms).toBeGreaterThanOrEqual(40);
  });

  it('without limits is never spent', () => {
    for (let i = 0; i < 100; i++) expect(takeQuestion(unlimited)).toBe(true);
    expect(isSpent(unlimited)).toBe(false);
  });
});
