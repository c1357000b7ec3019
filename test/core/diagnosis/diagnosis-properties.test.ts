/** Random checks: a finding explains every wait, and silence decides nothing. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { diagnose } from '../../../src/core/diagnosis/diagnosis.ts';
import { explain, severities } from '../../../src/core/diagnosis/findings.ts';
import {
  isConclusive,
  type Observation,
  type ServerView,
} from '../../../src/core/diagnosis/observation.ts';
import { observation, silentView } from '../support/arbitrary-observation.ts';
import { expectedFor } from '../support/observations.ts';

const runs = { numRuns: 1_500 };

const diagnosed = (seen: Observation) => diagnose(seen, expectedFor(seen.hostname));
const codesOf = (seen: Observation) => diagnosed(seen).findings.map(({ code }) => code);

function withServers(seen: Observation, servers: readonly ServerView[]): Observation {
  const [first, ...rest] = servers;
  return first === undefined ? seen : { ...seen, servers: [first, ...rest] };
}

it('a check that is not right always has a finding with texts', () => {
  fc.assert(
    fc.property(observation, (seen) => {
      const { verdict, findings } = diagnosed(seen);
      if (verdict !== 'right') expect(findings).not.toHaveLength(0);
      for (const finding of findings) {
        const { summary, found, action } = explain(finding);
        expect([summary, found, action].every((text) => text.length > 0)).toBe(true);
      }
    }),
    runs,
  );
});

it('the headline of a wrong check blocks, and a right check has no blocking finding', () => {
  fc.assert(
    fc.property(observation, (seen) => {
      const { verdict, findings } = diagnosed(seen);
      const ranks = findings.map(({ code }) => severities[code]);
      if (verdict === 'wrong') expect(ranks[0]).toBe('blocks');
      if (verdict === 'right') expect(ranks).not.toContain('blocks');
      const order = ['blocks', 'warns', 'informs'] as const;
      expect(ranks).toEqual(order.flatMap((rank) => ranks.filter((one) => one === rank)));
      expect(new Set(findings.map(({ code }) => code)).size).toBe(findings.length);
    }),
    runs,
  );
});

it('only the registry outweighs silence of all servers', () => {
  fc.assert(
    fc.property(
      observation,
      fc.array(silentView, { minLength: 1, maxLength: 3 }),
      (seen, servers) => {
        const { verdict, findings } = diagnosed(withServers(seen, servers));
        const unregistered = seen.delegation?.kind === 'unregistered';
        expect(verdict).toBe(unregistered ? 'wrong' : 'unknown');
        expect(findings.some(({ code }) => code === 'dns_unknown')).toBe(!unregistered);
      },
    ),
    runs,
  );
});

it('additional silent servers change no verdict', () => {
  fc.assert(
    fc.property(observation, fc.array(silentView, { maxLength: 3 }), (seen, silent) => {
      const more = withServers(seen, [...seen.servers, ...silent]);
      expect(diagnosed(more).verdict).toBe(diagnosed(seen).verdict);
    }),
    runs,
  );
});

it('the order of servers and resolvers is irrelevant', () => {
  fc.assert(
    fc.property(observation, (seen) => {
      const turned = withServers(seen, seen.servers.toReversed());
      const other = { ...turned, world: seen.world.toReversed() };
      expect(codesOf(other)).toEqual(codesOf(seen));
      expect(diagnosed(other)).toEqual(diagnosed(seen));
    }),
    runs,
  );
});

it('stored findings have truncated texts that any database accepts', () => {
  fc.assert(
    fc.property(observation, (seen) => {
      const { findings } = diagnosed(seen);
      expect(JSON.parse(JSON.stringify(findings))).toEqual(findings);
      expect(JSON.stringify(findings)).not.toMatch(/\\u0000|\\ud[89a-f]/i);
    }),
    runs,
  );
});

it('a right name has a CAA climb that ends at a set or without a failure', () => {
  fc.assert(
    fc.property(observation, (seen) => {
      if (diagnosed(seen).verdict !== 'right') return;
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
