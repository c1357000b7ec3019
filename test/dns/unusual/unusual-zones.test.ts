/**
 * Every case in `cases/` against real name servers. `npm test` runs a tenth, on NSD, BIND and Unbound;
 * `npm run test:long` runs all, also on Knot, PowerDNS and dnsdist, and fails if one is missing.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { explain } from '../../../src/core/diagnosis/findings.ts';
import { defaultLimits } from '../../../src/dns/wire/budget.ts';
import { isLongRun, rowsOfRun } from '../../support/run.ts';
import { TARGET } from '../real/check.ts';
import { lacksNameServers } from '../real/world.ts';
import { examineCase } from './examine.ts';
import { families } from './families.ts';
import { startTree, type Tree } from './tree.ts';
import { holdersOf } from './zones.ts';

const all = Object.values(families).flat();
const chosen = rowsOfRun(all, ({ quick }) => quick === true);

describe.skipIf(!isLongRun && lacksNameServers('unusual zones in NSD and BIND'))('A zone', () => {
  let tree: Tree;
  beforeAll(async () => {
    tree = await startTree(chosen.flatMap(({ zones }) => zones));
  });
  afterAll(() => tree?.close());

  describe.each(Object.entries(families))('among %s', (_family, cases) => {
    const rows = cases
      .filter((one) => chosen.includes(one))
      .map((one) => [one.title, one] as const);
    it.each(rows)('is diagnosed if %s', async (_title, expected) => {
      const { diagnosis, record, observation, again } = await examineCase(tree, expected);
      const { findings, verdict } = diagnosis;
      const codes = findings.map(({ code }) => code);
      expect({ verdict, leading: codes[0] ?? null }, JSON.stringify(findings)).toEqual({
        verdict: expected.verdict,
        leading: expected.leading,
      });
      expect(codes).toEqual(expect.arrayContaining([...(expected.also ?? [])]));
      expect(`${record.type} ${record.name}`).toBe(expected.record);
      expect(record.value).toBe(TARGET);
      const [leading] = findings;
      if (leading !== undefined) expect(wordsOf(leading)).toContain(expected.says);
      expect(observation.cost.questions).toBeLessThanOrEqual(defaultLimits.questions);
      expect(observation.cost.bytes).toBeLessThanOrEqual(defaultLimits.bytes);
      if (verdict === 'wrong') expect(again).toBe('unchanged');
    });
  });
});

describe('The table of cases', () => {
  it('has a phrase for every case with a finding', () => {
    for (const { title, leading, says } of all) expect(says === null, title).toBe(leading === null);
  });

  it('needs only NSD and BIND in the quick run', () => {
    const found = all
      .filter(({ quick }) => quick)
      .flatMap(({ zones }) => zones.flatMap((zone) => [...holdersOf(zone), zone.front]));
    expect(found.filter((one) => one && !['nsd', 'nsd2', 'bind'].includes(one))).toEqual([]);
  });

  it('has unique titles', () => {
    const titles = all.map(({ title }) => title);
    expect(new Set(titles).size).toBe(titles.length);
  });
});

function wordsOf(finding: Parameters<typeof explain>[0]): string {
  const { summary, expected, found, action, hints } = explain(finding);
  return [summary, expected, found, action, ...hints.map(({ text }) => text)].join('\n');
}
