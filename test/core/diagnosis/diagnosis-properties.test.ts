/** Whatever a check may have seen: nobody waits without being told what for, and silence decides nothing. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { diagnose } from '../../../src/core/diagnosis/diagnosis.ts';
import { explain, severities } from '../../../src/core/diagnosis/findings.ts';
import {
  type CaaLevel,
  isConclusive,
  type Observation,
  type ServerView,
} from '../../../src/core/diagnosis/observation.ts';
import { observation, silentView } from '../support/arbitrary-observation.ts';
import { expectedFor } from '../support/observations.ts';

const runs = { numRuns: 1_500 };

const diagnosed = (seen: Observation) => diagnose(seen, expectedFor(seen.hostname));
const codesOf = (seen: Observation) => diagnosed(seen).findings.map(({ code }) => code);

/** The same look at other servers. */
function withServers(seen: Observation, servers: readonly ServerView[]): Observation {
  const [first, ...rest] = servers;
  return first === undefined ? seen : { ...seen, servers: [first, ...rest] };
}

it('a check that is not right always says why, in words', () => {
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

it('the headline of a check that is wrong is something that blocks, and nothing blocks one that is right', () => {
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

it('silence decides nothing: only the registry outweighs that no server told', () => {
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

it('silence beside others changes no verdict', () => {
  fc.assert(
    fc.property(observation, fc.array(silentView, { maxLength: 3 }), (seen, silent) => {
      const more = withServers(seen, [...seen.servers, ...silent]);
      expect(diagnosed(more).verdict).toBe(diagnosed(seen).verdict);
    }),
    runs,
  );
});

it('the order of servers and resolvers changes nothing', () => {
  fc.assert(
    fc.property(observation, (seen) => {
      const turned = withServers(seen, seen.servers.toReversed());
      const { world, signatures = [] } = seen;
      const other = {
        ...turned,
        world: world.toReversed(),
        signatures: signatures.toReversed(),
      };
      expect(codesOf(other)).toEqual(codesOf(seen));
      expect(diagnosed(other)).toEqual(diagnosed(seen));
    }),
    runs,
  );
});

it('what is stored is short of foreign texts, and fit for any database', () => {
  fc.assert(
    fc.property(observation, (seen) => {
      const { findings } = diagnosed(seen);
      expect(JSON.parse(JSON.stringify(findings))).toEqual(findings);
      expect(JSON.stringify(findings)).not.toMatch(/\\u0000|\\ud[89a-f]/i);
    }),
    runs,
  );
});

it('a name is right only where the climb for CAA was made, to a set or without a failure', () => {
  fc.assert(
    fc.property(observation, (seen) => {
      if (diagnosed(seen).verdict !== 'right') return;
      const levels = seen.caa ?? [];
      expect(levels.length).toBeGreaterThan(0);
      expect(ends(levels)).not.toContain('failure');
    }),
    runs,
  );
});

/** How the climb ends at whichever server of each level an authority may meet. */
function ends(levels: readonly CaaLevel[]): readonly ('set' | 'none' | 'failure')[] {
  const [level, ...above] = levels;
  if (level === undefined) return ['none'];
  const { answer, servers = [{ answer }] } = level;
  return servers.flatMap((one) => {
    if (!isConclusive(one.answer)) return ['failure' as const];
    return one.answer.kind === 'records' ? ['set' as const] : ends(above);
  });
}
