/** Serves the output of `signpost zone` with NSD and BIND to customers with own CAA records. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { evaluateCaa } from '../../../src/core/diagnosis/caa/caa.ts';
import type { CaaAuthority } from '../../../src/core/diagnosis/caa/caa-set.ts';
import { inMasterFile, platformZone } from '../../../src/core/names/platform-zone.ts';
import { examine } from '../../../src/dns/examine.ts';
import { createObserver, type Observer } from '../../../src/dns/observe/observe.ts';
import { caaOf } from '../test-lab.ts';
import { lacksNameServers, type RealWorld, startRealWorld } from './world.ts';
import type { RealZone } from './zones.ts';

const account = 'https://ca.test/acct/1';
const ca: CaaAuthority = {
  issuerDomains: ['ca.example'],
  accountUri: account,
  method: 'http-01',
};

const printedFor = (platformDomain: string, parameters: readonly string[] = []) =>
  inMasterFile(
    platformZone({
      platformDomain,
      addresses: ['203.0.113.10', '2001:db8:1::10'],
      issuerDomains: ca.issuerDomains,
      fallbackIssuerDomains: [],
      ttlSeconds: 300,
      contact: 'ops@example.net',
      parameters: parameters.map((value) => ({ tag: 'accounturi', value })),
    }),
  )
    .trimEnd()
    .split('\n');

const addressesOf = (platformDomain: string) =>
  printedFor(platformDomain).filter((line) => !line.includes('CAA'));

const platforms: readonly RealZone[] = [
  { name: 'whole.test', records: printedFor('whole.test') },
  { name: 'ours.test', records: printedFor('ours.test', [account]) },
  { name: 'theirs.test', records: printedFor('theirs.test', ['https://ca.test/acct/2']) },
  { name: 'without.test', records: addressesOf('without.test') },
  {
    name: 'above.test',
    records: [...addressesOf('above.test'), '@ CAA 0 issue "ca.example"'],
  },
  {
    name: 'beside.test',
    records: [...printedFor('beside.test'), 'p1 A 203.0.113.10', 'p1 AAAA 2001:db8:1::10'],
  },
  { name: 'below.test', records: [...printedFor('below.test'), 'x.p1 TXT "somebody"'] },
  // A part of a larger zone and a separate delegation look the same to clients.
  { name: 'larger.test', records: printedFor('edge.larger.test') },
];

/** A customer whose CAA records allow another CA only. */
const customer: RealZone = {
  name: 'shop.test',
  records: [
    '@ CAA 0 issue "other.example"',
    '@ A 203.0.113.10',
    '@ AAAA 2001:db8:1::10',
    ...platforms.map(({ name }) => `${name.split('.')[0]} CNAME ${targetIn(name)}.`),
  ],
};

function targetIn(platform: string): string {
  return platform === 'larger.test' ? 'p1.edge.larger.test' : `p1.${platform}`;
}

type Row = readonly [what: string, platform: string, codes: readonly string[]];
const rows: readonly Row[] = [
  ['with the records as printed', 'whole.test', []],
  ['with those of a name inside a larger zone', 'larger.test', []],
  ['with our account in them', 'ours.test', []],
  ['with another account in them', 'theirs.test', ['caa_blocks']],
  ['without the CAA records', 'without.test', ['caa_blocks']],
  ['with CAA records above the targets instead', 'above.test', ['caa_blocks']],
  ['with an address record for that target only', 'beside.test', ['caa_blocks']],
];

describe.skipIf(lacksNameServers('the platform’s zone in NSD and BIND'))(
  'a subdomain whose apex forbids our CA',
  () => {
    let world: RealWorld;
    let observer: Observer;
    beforeAll(async () => {
      world = await startRealWorld([...platforms, customer]);
      const { wire, resolver } = world;
      const config = {
        servers: [resolver],
        authoritative: true,
        authorityPort: resolver.port,
        allowPrivate: true,
      };
      observer = createObserver({ wire, config, platformAddresses: [] });
    });
    afterAll(() => world?.close());

    const check = (hostname: string, target: string) => {
      const parts = { observer, authorities: async () => [ca], allowPrivate: true };
      return examine(parts, { hostname, target });
    };

    it.each(rows)('%s', async (_what, platform, codes) => {
      const hostname = `${platform.split('.')[0]}.shop.test`;
      const { diagnosis } = await check(hostname, targetIn(platform));
      expect(diagnosis.findings.map(({ code }) => code)).toEqual(codes);
      expect(diagnosis.verdict).toBe(codes.length === 0 ? 'right' : 'wrong');
      // The same lookup runs once more before an order.
      const kind = evaluateCaa(await caaOf(observer, hostname), ca, { wildcard: false }).kind;
      expect(kind).toBe(codes.length === 0 ? 'allow' : 'deny');
    });

    it('is not blamed when a record below a target hides the wildcard', async () => {
      const answer = await world.ask('ns1', 'p1.below.test', 'A');
      expect(answer.message.answers).toEqual([]);
      const { diagnosis } = await check('below.shop.test', 'p1.below.test');
      expect(diagnosis.findings.map(({ code }) => code)).toContain('caa_blocks');
    });

    it('does not free the apex, which has no CNAME', async () => {
      const { diagnosis } = await check('shop.test', 'p1.whole.test');
      expect(diagnosis.findings.map(({ code }) => code)).toEqual(['caa_blocks']);
    });

    it.each(['ns1', 'ns2'] as const)('is answered alike for any target by %s', async (server) => {
      const shown = async (target: string) =>
        Promise.all(
          (['A', 'AAAA', 'CAA'] as const).map(async (type) => {
            const { answers } = (await world.ask(server, target, type)).message;
            return answers.map((record) => record.type);
          }),
        );
      const all = [['A'], ['AAAA'], ['CAA', 'CAA', 'CAA']];
      expect(await shown('abcdefghijklmnop.whole.test')).toEqual(all);
      expect(await shown('qrstuvwxyz234567.whole.test')).toEqual(all);
      expect(await shown('whole.test')).toEqual([[], [], []]);
    });
  },
);
