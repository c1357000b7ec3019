/** Random faults in a small internet: silence stays unknown, and a wrong answer is never right. */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defaultLimits } from '../../../src/dns/wire/budget.ts';
import type { LabFault } from '../../../src/lab/faults.ts';
import { sizeOfRun } from '../../support/run.ts';
import { closeInternet, diagnosed, type Internet, observerOf, openInternet } from './internet.ts';
import { RIGHT, twoServers } from './row.ts';

const HOSTNAME = 'docs.shop.test';
const RUNS = sizeOfRun({ quick: 30, long: 600 });
const TYPES = ['A', 'AAAA', 'CAA', 'NS', 'SOA', 'MX', 'TXT', '*'] as const;
/** Loopback is fast, so silence is detected early. */
const QUICK = { timeoutMs: 10, limits: { ...defaultLimits, ms: 1_000 } };

/** Faults without a usable answer. Silent ones take time, so they are fewer. */
const answerless = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom('servfail', 'refused', 'notimp', 'garbage') },
  { weight: 6, arbitrary: fc.constantFrom('upward_referral', 'flood', 'no_tcp') },
  {
    weight: 1,
    arbitrary: fc.constantFrom('timeout', 'wrong_id', 'wrong_question'),
  },
) satisfies fc.Arbitrary<LabFault>;

const instead = (lines: readonly string[]): LabFault => ({
  kind: 'remembered',
  lines,
  ttlSeconds: 60,
});

/** Faults that answer, but never with the right record. */
const wrong: fc.Arbitrary<LabFault> = fc.oneof(
  fc.constantFrom<LabFault>('nxdomain', 'nodata', 'endless_alias'),
  fc
    .subarray(
      [
        '@ CNAME other.test.',
        '@ CNAME p1\\.edge.test.',
        '@ CNAME p1.edge.test.shop.test.',
        '@ A 192.0.2.10',
        '@ A 198.51.100.1',
        '@ AAAA 2001:db8::bad',
      ],
      { maxLength: 3 },
    )
    .map(instead),
);

const types = fc.constantFrom(...TYPES);
/** Faults per type on top of a general one, so that no answer is right. */
const faultsOf = (fault: fc.Arbitrary<LabFault>) =>
  fc.tuple(fault, fc.dictionary(types, fault, { maxKeys: 2 }));
type Faults = readonly [everything: LabFault, byType: Readonly<Record<string, LabFault>>];

let internet: Internet;
beforeAll(async () => {
  internet = await openInternet({ ...twoServers([RIGHT], [RIGHT]), ...QUICK });
});
afterAll(closeInternet);

/** A check by an observer with an empty cache. */
async function checkWith(faults: Readonly<Record<string, Faults>>, names: string) {
  internet.forget();
  for (const [name, [everything, byType]] of Object.entries(faults)) {
    const server = internet.server(name);
    server.heal();
    server.fail(names, '*', everything);
    for (const [type, fault] of Object.entries(byType)) server.fail(names, type, fault);
  }
  const { observe, close } = observerOf(internet.resolver, QUICK);
  const observation = await observe(HOSTNAME);
  close();
  expect(internet.questions().length).toBeLessThanOrEqual(defaultLimits.questions);
  return diagnosed(observation);
}

const everywhere = (faults: fc.Arbitrary<Faults>) =>
  fc.record({
    'ns1.shop.test': faults,
    'ns2.shop.test': faults,
    registry: faults,
    resolver: faults,
  });
const inTheZone = (faults: fc.Arbitrary<Faults>) =>
  fc.record({ 'ns1.shop.test': faults, 'ns2.shop.test': faults, resolver: faults });

describe('a check over real DNS', () => {
  it('without an answer from any server has the verdict unknown', {
    timeout: 300_000,
  }, async () => {
    const property = fc.asyncProperty(everywhere(faultsOf(answerless)), async (faults) => {
      const { verdict, codes } = await checkWith(faults, '.');
      // Servers that refuse may also be reported: the zone may have been deleted there.
      const others = codes.filter((code) => code !== 'name_server_lame');
      expect({ verdict, others }).toEqual({ verdict: 'unknown', others: ['dns_unknown'] });
    });
    await fc.assert(property, { numRuns: RUNS });
  });

  it('without an answer for the domain is unknown, even if the registry and the resolver answer for others', {
    timeout: 300_000,
  }, async () => {
    const property = fc.asyncProperty(inTheZone(faultsOf(answerless)), async (faults) => {
      const { verdict } = await checkWith(faults, '.shop.test');
      expect(verdict).toBe('unknown');
    });
    internet.registry.heal();
    await fc.assert(property, { numRuns: RUNS });
  });

  it('with wrong answers only is never right', { timeout: 300_000 }, async () => {
    const either = fc.oneof({ weight: 3, arbitrary: wrong }, { weight: 1, arbitrary: answerless });
    const property = fc.asyncProperty(inTheZone(faultsOf(either)), async (faults) => {
      const { verdict, codes } = await checkWith(faults, HOSTNAME);
      expect(verdict).not.toBe('right');
      expect(codes).not.toEqual([]);
    });
    internet.registry.heal();
    await fc.assert(property, { numRuns: RUNS });
  });
});
