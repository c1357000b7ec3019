/**
 * Every case in `cases/` against real name servers. `npm test` runs a tenth, on NSD, BIND and Unbound;
 * `npm run test:long` runs all, also on Knot, PowerDNS and dnsdist, and fails if one is missing.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { explain } from '../../../src/core/diagnosis/findings.ts';
import { splitAtZone } from '../../../src/core/names/zone.ts';
import { createExamine, type Examined } from '../../../src/dns/examine.ts';
import { createObserver } from '../../../src/dns/observe/observe.ts';
import { defaultLimits } from '../../../src/dns/wire/budget.ts';
import { createWire } from '../../../src/dns/wire/wire.ts';
import { isLongRun, rowsOfRun } from '../../support/run.ts';
import { comparedWith } from '../laboratory.ts';
import { authority, TARGET } from '../real/check.ts';
import { lacksNameServers } from '../real/world.ts';
import type { Case } from './case.ts';
import { bogusAndWrong } from './cases/bogus-and-wrong.ts';
import { caa } from './cases/caa.ts';
import { caaDiffers } from './cases/caa-differs.ts';
import { delegations } from './cases/delegations.ts';
import { denials } from './cases/denials.ts';
import { failingServers } from './cases/failing-servers.ts';
import { loops } from './cases/loops.ts';
import { manyServers } from './cases/many-servers.ts';
import { ourSide } from './cases/our-side.ts';
import { programs } from './cases/programs.ts';
import { values } from './cases/values.ts';
import { zoneCuts } from './cases/zone-cuts.ts';
import { startTree, type Tree } from './tree.ts';
import { holdersOf } from './zones.ts';

const families: Readonly<Record<string, readonly Case[]>> = {
  'zones within zones': zoneCuts,
  'more than four servers': manyServers,
  'CNAME loops': loops,
  'CAA records that differ between servers': caaDiffers,
  CAA: caa,
  'each program': programs,
  'failing servers': failingServers,
  delegations,
  'values of records': values,
  'negative answers that do not validate': denials,
  'bad signatures and a wrong record': bogusAndWrong,
  'our own side': ourSide,
};

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
      const { diagnosis, record, observation, again } = await examine(tree, expected);
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

/** With an empty cache; `again`: what a second check with few queries finds. */
async function examine(
  { resolver, sick }: Tree,
  { hostname, strict, ...given }: Case,
): Promise<Examined & { readonly again: 'unchanged' | 'observed' }> {
  const wire = createWire();
  try {
    const observer = createObserver({
      wire,
      platformAddresses: [],
      config: {
        servers: [given.resolver === undefined ? resolver : sick[given.resolver]],
        authoritative: true,
        authorityPort: resolver.port,
        allowPrivate: true,
      },
    });
    const authorities = async () => [authority];
    const examineOne = createExamine({ observer, authorities, allowPrivate: strict !== true });
    const examined = await examineOne({ hostname, target: TARGET });
    const { apex } = splitAtZone(hostname);
    const checked = { hostname, target: TARGET, apex };
    const { kind } = await observer.observeAgain(checked, comparedWith(examined.observation));
    return { ...examined, again: kind };
  } finally {
    wire.close();
  }
}

function wordsOf(finding: Parameters<typeof explain>[0]): string {
  const { summary, expected, found, action, hints } = explain(finding);
  return [summary, expected, found, action, ...hints.map(({ text }) => text)].join('\n');
}
