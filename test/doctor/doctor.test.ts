/**
 * The doctor against real name servers: every row of the tables in `cases/`. A tenth of them, on NSD, BIND and Unbound,
 * in `npm test`; all of them, with Knot, PowerDNS and dnsdist, in `npm run test:long`, which fails where one is missing.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { explain } from '../../src/core/diagnosis/findings.ts';
import type { Observation } from '../../src/core/diagnosis/observation.ts';
import { splitAtZone } from '../../src/core/names/zone.ts';
import { createExamine, type Examined } from '../../src/dns/examine.ts';
import { createObserver } from '../../src/dns/observe/observe.ts';
import { defaultLimits } from '../../src/dns/wire/budget.ts';
import { createWire } from '../../src/dns/wire/wire.ts';
import { comparedWith } from '../dns/laboratory.ts';
import { authority, TARGET } from '../dns/real/check.ts';
import { lacksNameServers } from '../dns/real/world.ts';
import { isLongRun, rowsOfRun } from '../support/run.ts';
import type { Case } from './case.ts';
import { bogusAndWrong } from './cases/bogus-and-wrong.ts';
import { caa } from './cases/caa.ts';
import { caaDiffers } from './cases/caa-differs.ts';
import { circles } from './cases/circles.ts';
import { delegations } from './cases/delegations.ts';
import { denials } from './cases/denials.ts';
import { manyServers } from './cases/many-servers.ts';
import { ours } from './cases/ours.ts';
import { programs } from './cases/programs.ts';
import { sickServers } from './cases/sick-servers.ts';
import { values } from './cases/values.ts';
import { zoneCuts } from './cases/zone-cuts.ts';
import { startTree, type Tree } from './tree.ts';
import { holdersOf } from './zones.ts';

const families: Readonly<Record<string, readonly Case[]>> = {
  'zones within zones': zoneCuts,
  'more than four servers': manyServers,
  'CNAMEs in a circle': circles,
  'CAA records that differ between servers': caaDiffers,
  'each program': programs,
  'servers that are sick': sickServers,
  delegations,
  'values of records': values,
  CAA: caa,
  'our own side': ours,
  'denials that do not validate': denials,
  'bad signatures and a wrong record': bogusAndWrong,
};

const all = Object.values(families).flat();
const chosen = rowsOfRun(all, ({ quick }) => quick === true);

describe.skipIf(!isLongRun && lacksNameServers('the doctor at NSD and BIND'))('the doctor', () => {
  let tree: Tree;
  beforeAll(async () => {
    tree = await startTree(chosen.flatMap(({ zones }) => zones));
  });
  afterAll(() => tree?.close());

  describe.each(Object.entries(families))('%s', (_family, cases) => {
    const rows = cases
      .filter((one) => chosen.includes(one))
      .map((one) => [one.title, one] as const);
    it.each(rows)('%s', async (_title, expected) => {
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
      // What is wrong stays as it was by a few questions.
      if (verdict === 'wrong') expect(again === observation).toBe(true);
    });
  });
});

describe('the table of cases', () => {
  it('has phrases for all that is said, and none where nothing is', () => {
    for (const { title, leading, says } of all) {
      expect(says === null, title).toBe(leading === null);
    }
  });

  it('is quick only where no other servers than NSD and BIND are needed', () => {
    const found = all
      .filter(({ quick }) => quick)
      .flatMap(({ zones }) => zones.flatMap((zone) => [...holdersOf(zone), zone.front]));
    expect(found.filter((one) => one && !['nsd', 'nsd2', 'bind'].includes(one))).toEqual([]);
  });

  it('has no two cases of one title', () => {
    const titles = all.map(({ title }) => title);
    expect(new Set(titles).size).toBe(titles.length);
  });
});

/** As the doctor does it, with nothing known from before. */
async function examine(
  { resolver, sick }: Tree,
  { hostname, strict, ...given }: Case,
): Promise<Examined & { readonly again: Observation }> {
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
    const again = await observer.observe(
      { hostname, target: TARGET, apex },
      comparedWith(examined.observation),
    );
    return { ...examined, again };
  } finally {
    wire.close();
  }
}

function wordsOf(finding: Parameters<typeof explain>[0]): string {
  const { summary, expected, found, action, hints } = explain(finding);
  return [summary, expected, found, action, ...hints.map(({ text }) => text)].join('\n');
}
