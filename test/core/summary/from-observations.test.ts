/** Random observations: the summary and the list of changes never contradict each other. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { DnsChange } from '../../../src/core/diagnosis/changes/change.ts';
import { changesFor } from '../../../src/core/diagnosis/changes/changes.ts';
import { diagnose } from '../../../src/core/diagnosis/diagnosis.ts';
import type { Observation } from '../../../src/core/diagnosis/observation.ts';
import { summaryOf } from '../../../src/core/life/summary/summary.ts';
import type { Summary, SummaryInput } from '../../../src/core/life/summary/summary-types.ts';
import { noon } from '../../support/builders.ts';
import { observation } from '../support/arbitrary-observation.ts';
import { expectedFor, target } from '../support/observations.ts';
import { live, pending, verified } from './support.ts';

const bases = { pending, verified, live };
const status = fc.constantFrom<keyof typeof bases>('pending', 'verified', 'live');
const runs = { numRuns: 3_000 };

type Shown = {
  readonly summary: Summary;
  readonly changes: readonly DnsChange[];
  readonly input: SummaryInput;
};

/** As a page shows it: a check that is wrong makes a live domain suspected. */
function shown(seen: Observation, of: keyof typeof bases): Shown {
  const { hostname } = seen;
  const { findings, provider, verdict } = diagnose(seen, expectedFor(hostname));
  const changes = changesFor({ hostname, target, observation: seen, findings, status: of });
  const missedAt = of === 'live' && verdict === 'wrong' ? noon : null;
  const input = { ...bases[of], hostname, findings, changes, provider, missedAt };
  return { summary: summaryOf(input, noon), changes, input };
}

const isToDo = ({ verb, state }: DnsChange) => verb !== 'keep' && state === 'to_do';

it('“Nothing to do” never stands above a change to make', () => {
  fc.assert(
    fc.property(observation, status, (seen, of) => {
      const { summary, changes } = shown(seen, of);
      if (!summary.headline.includes('Nothing to do')) return;
      expect(changes.filter(isToDo)).toEqual([]);
    }),
    runs,
  );
});

it('a green summary has only records to keep', () => {
  fc.assert(
    fc.property(observation, status, (seen, of) => {
      const { summary, changes } = shown(seen, of);
      if (summary.tone === 'ok') expect(changes.every(({ verb }) => verb === 'keep')).toBe(true);
    }),
    runs,
  );
});

it('a link to the DNS provider is offered only if a record there can help', () => {
  fc.assert(
    fc.property(observation, status, (seen, of) => {
      const { summary, input } = shown(seen, of);
      if (summary.action !== 'open_dns') return;
      expect(input.findings.length).toBeGreaterThan(0);
      expect(summary.actor).not.toBe('platform');
    }),
    runs,
  );
});

it('each text is made of sentences', () => {
  fc.assert(
    fc.property(observation, status, (seen, of) => {
      const { summary } = shown(seen, of);
      for (const text of [summary.now, summary.text, summary.brief, summary.headline]) {
        expect(text).not.toMatch(/undefined|null/);
        expect(text.trim()).toBe(text);
      }
    }),
    runs,
  );
});
