/** CAA records that differ between name servers: the worst counts, and each server is named. */
import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../../src/core/diagnosis/diagnosis.ts';
import { explain, type FindingOf } from '../../../../src/core/diagnosis/findings.ts';
import type { CaaLevel, CaaRecord, DnsAnswer } from '../../../../src/core/diagnosis/observation.ts';
import {
  expectedFor,
  nodata,
  observed,
  records,
  server,
  servfail,
  target,
} from '../../support/observations.ts';
import { hostname, nasty } from '../../support/sample-findings.ts';

const [ONE, TWO] = ['ns1.example.net', 'ns2.example.net'] as const;
const right = server({ cname: records(target) });
const set = (value: string) => records({ flags: 0, tag: 'issue', value });
const [ours, foreign] = [set('letsencrypt.org'), set('ca.example')];

type Said = readonly [server: string, answer: DnsAnswer<CaaRecord>];

function differing(first: Said, second: Said, name = 'example.com'): CaaLevel {
  const servers = [first, second].map(([one, answer]) => ({ server: one, answer }));
  return { name, answer: first[1], servers };
}

function found(...caa: readonly CaaLevel[]) {
  const observation = observed(hostname, [right], {
    caa: [{ name: hostname, publishedAt: target, answer: nodata }, ...caa],
  });
  const { verdict, findings } = diagnose(observation, expectedFor(hostname));
  return { verdict, finding: findings[0] };
}

function blocked(...caa: readonly CaaLevel[]): FindingOf<'caa_blocks'> {
  const { finding } = found(...caa);
  if (finding?.code !== 'caa_blocks') throw new Error(`it says ${finding?.code}`);
  return finding;
}

const com: CaaLevel = { name: 'com', answer: nodata };

describe('CAA records that differ between name servers', () => {
  it.each<[string, readonly CaaLevel[], string]>([
    ['the second forbids', [differing([ONE, ours], [TWO, foreign])], 'wrong'],
    ['the first forbids', [differing([ONE, foreign], [TWO, ours])], 'wrong'],
    [
      'one forbids, and the other has none',
      [differing([ONE, nodata], [TWO, foreign]), com],
      'wrong',
    ],
    ['both allow', [differing([ONE, ours], [TWO, nodata]), com], 'right'],
    [
      'one has none, and the level above forbids',
      [
        differing([ONE, ours], [TWO, nodata], 'team.example.com'),
        { name: 'example.com', answer: foreign },
      ],
      'wrong',
    ],
    [
      'one has none, and the level above does not answer',
      [differing([ONE, ours], [TWO, nodata]), { name: 'com', answer: servfail }],
      'unknown',
    ],
  ])('count as the worst of them: %s', (_what, levels, verdict) => {
    expect(found(...levels).verdict).toBe(verdict);
  });

  it('are shown by server', () => {
    expect(blocked(differing([ONE, ours], [TWO, foreign]))).toMatchObject({
      foundAt: 'example.com',
      records: ['0 issue "ca.example"'],
      reason: 'other_authority',
      differ: {
        at: 'example.com',
        servers: [
          { server: ONE, records: ['0 issue "letsencrypt.org"'], allows: true },
          { server: TWO, records: ['0 issue "ca.example"'], allows: false },
        ],
      },
    });
  });

  it('are for the provider to fix', () => {
    expect(explain(blocked(differing([ONE, nodata], [TWO, foreign]), com))).toMatchObject({
      actor: 'dns_provider',
      summary: `The name servers differ in the CAA records of example.com. ${TWO} does not let our certificate authority issue for ${hostname}, and it can query any of them.`,
      expected: `At every name server the same records for example.com as at ${ONE}, or CAA 0 issue "letsencrypt.org"`,
      found: `For example.com, ${ONE} has no CAA records, ${TWO} has 0 issue "ca.example"`,
      action: `If you just changed these records, wait: your DNS provider is updating its name servers. We check again automatically. If it lasts more than an hour, ask your provider why ${TWO} has other CAA records of example.com than ${ONE}.`,
    });
  });

  it('are for the customer to fix if the servers belong to several providers', () => {
    expect(explain(blocked(differing([ONE, foreign], ['ns.other.org', ours])))).toMatchObject({
      actor: 'customer',
      action: `These name servers seem to belong to different DNS providers, which do not copy records from each other. Make the CAA records of example.com at ${ONE} the same as at ns.other.org, or use the name servers of only one provider.`,
    });
  });

  it('are for the customer to fix if all of them forbid', () => {
    const finding = blocked(differing([ONE, foreign], [TWO, set('other.example')]));
    expect(explain(finding)).toMatchObject({
      actor: 'customer',
      found: `${ONE} has 0 issue "ca.example", ${TWO} has 0 issue "other.example"`,
      action:
        'The name servers differ, so do this at each of them. Add this CAA record at example.com, beside the existing ones: 0 issue "letsencrypt.org"',
    });
  });

  it('name the level that counts if a server has none and the level above forbids', () => {
    const below = differing([ONE, ours], [TWO, nodata], 'team.example.com');
    const { found: said } = explain(blocked(below, { name: 'example.com', answer: foreign }));
    expect(said).toBe(
      `For team.example.com, ${ONE} has 0 issue "letsencrypt.org", ${TWO} has no CAA records; without any, those of example.com count: 0 issue "ca.example"`,
    );
  });

  it('are cut to a readable length', () => {
    const many = Array.from({ length: 50 }, (_, nth) => ({
      server: `${nth}${nasty}`,
      answer: nth % 2 === 0 ? set(nasty) : ours,
    }));
    const level = { name: 'example.com', answer: ours, servers: many };
    const texts = Object.values(explain(blocked(level))).flatMap((one) =>
      typeof one === 'string' ? one : [],
    );
    for (const text of texts) {
      expect(text).toMatch(/^[\x20-\x7e“”’–→…]*$/);
      expect(text.length).toBeLessThan(5_000);
    }
  });
});
