/** Whatever a look may have seen: nobody waits without being told what for, and silence decides nothing. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { diagnose } from '../../../src/core/diagnosis/diagnosis.ts';
import { explain } from '../../../src/core/diagnosis/explain.ts';
import { severities } from '../../../src/core/diagnosis/findings.ts';
import {
  type Answer,
  type CaaRecord,
  isConclusive,
  type Observation,
} from '../../../src/core/observation.ts';
import { expectedFor, target } from '../support/observations.ts';

const answer = <R>(record: fc.Arbitrary<R>): fc.Arbitrary<Answer<R>> =>
  fc.oneof(
    fc.constantFrom<Answer<R>>(
      { kind: 'nodata' },
      { kind: 'nxdomain' },
      { kind: 'servfail' },
      { kind: 'refused' },
      { kind: 'timeout' },
    ),
    fc.tuple(record, fc.array(record, { maxLength: 2 })).map(
      ([first, rest]): Answer<R> => ({
        kind: 'records',
        records: [first, ...rest],
        ttlSeconds: 60,
      }),
    ),
  );

const name = fc.constantFrom(target, target.toUpperCase(), 'other.example', '', '\\000.x');
const address = fc.constantFrom('192.0.2.1', '203.0.113.9', '2001:db8::1', '2001:DB8::0:1', 'x');
const caaRecord: fc.Arbitrary<CaaRecord> = fc.record({
  flags: fc.constantFrom(0, 1, 128, 255),
  tag: fc.constantFrom('issue', 'ISSUE', 'issuewild', 'iodef', 'foo', ''),
  value: fc.constantFrom('letsencrypt.org', 'LetsEncrypt.org', 'ca.example', ';', '', '\\000;;'),
});
const view = fc.record({
  server: fc.constantFrom('ns1.example.com', '192.0.2.53'),
  cname: answer(name),
  a: answer(address),
  aaaa: answer(address),
});

const hostnames = ['docs.example.com', 'example.com', 'a.b.example.co.uk', 'shop.test', 'co.uk'];

const observation: fc.Arbitrary<Observation> = fc.record({
  hostname: fc.constantFrom(...hostnames),
  view: fc.constantFrom('authoritative', 'recursive'),
  servers: fc.tuple(view, fc.array(view, { maxLength: 2 })).map(([one, more]) => [one, ...more]),
  caa: fc.option(
    fc.array(fc.record({ name: fc.constantFrom(...hostnames, 'com'), answer: answer(caaRecord) }), {
      maxLength: 3,
    }),
  ),
  targetAddresses: fc.array(address, { maxLength: 2 }),
});

const runs = { numRuns: 5_000 };

it('a look that is not right always says why, in words', () => {
  fc.assert(
    fc.property(observation, (seen) => {
      const { verdict, findings } = diagnose(seen, expectedFor(seen.hostname));
      expect(findings.length > 0).toBe(verdict !== 'right');
      for (const finding of findings) {
        const { summary, found, action } = explain(finding);
        expect([summary, found, action].every((text) => text.length > 0)).toBe(true);
      }
    }),
    runs,
  );
});

it('the headline of a look that is wrong is something that blocks', () => {
  fc.assert(
    fc.property(observation, (seen) => {
      const { verdict, findings } = diagnose(seen, expectedFor(seen.hostname));
      const [headline] = findings;
      if (verdict === 'wrong') expect(headline && severities[headline.code]).toBe('blocks');
    }),
    runs,
  );
});

it('silence decides nothing: without one conclusive answer about the name the verdict is unknown', () => {
  const silent = fc.constantFrom<Answer<never>>(
    { kind: 'servfail' },
    { kind: 'refused' },
    { kind: 'timeout' },
  );
  const mute = fc.record({ server: fc.constant('ns1'), cname: silent, a: silent, aaaa: silent });
  fc.assert(
    fc.property(observation, fc.array(mute, { minLength: 1, maxLength: 3 }), (seen, servers) => {
      const [first, ...rest] = servers;
      if (first === undefined) return;
      const look = { ...seen, servers: [first, ...rest] } as const;
      expect(diagnose(look, expectedFor(seen.hostname)).verdict).toBe('unknown');
    }),
    runs,
  );
});

it('a name is right only where the climb for CAA was made, to a set or without a failure', () => {
  fc.assert(
    fc.property(observation, (seen) => {
      if (diagnose(seen, expectedFor(seen.hostname)).verdict !== 'right') return;
      const levels = seen.caa ?? [];
      const nearest = levels.find(
        ({ answer: one }) => one.kind === 'records' || !isConclusive(one),
      );
      expect(levels.length).toBeGreaterThan(0);
      expect(nearest === undefined || nearest.answer.kind === 'records').toBe(true);
    }),
    runs,
  );
});
