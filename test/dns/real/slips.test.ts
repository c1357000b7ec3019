/** What stands around a record, as NSD and BIND give it, and the hint that tells it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { FindingCode } from '../../../src/core/diagnosis/findings.ts';
import { type Check, type Checked, checkIn } from './check.ts';
import { lacksNameServers, type RealWorld, startRealWorld } from './world.ts';
import type { RealZone } from './zones.ts';

const platform = ['@ A 203.0.113.10', '@ A 203.0.113.11', '@ AAAA 2001:db8:1::10'];
const zones: readonly RealZone[] = [
  {
    name: 'shop.test',
    records: [
      '*.stops CNAME p1.edge.test.',
      'docs.stops TXT "x"',
      '* CNAME p1.edge.test.',
      'deep.team2 TXT "x"',
      'first CNAME p1',
      'team DNAME elsewhere.test.',
      'crew CNAME squad',
      'squad CNAME crew',
      'docs.crew CNAME p1.edge.test.',
      'handed NS ns1.gone.test.',
    ],
  },
  { name: 'whole.test', records: platform },
  { name: 'hints.test', records: [...platform, '@ HTTPS 1 . ipv4hint=198.51.100.7'] },
];

type Case = {
  readonly title: string;
  readonly hostname: string;
  readonly verdict: Checked['verdict'];
  readonly codes: readonly FindingCode[];
  /** Of the headline. */
  readonly evidence: object;
};

const cases: readonly Case[] = [
  {
    title: 'a wildcard beside the name that leads here, and a text at the name',
    hostname: 'docs.stops.shop.test',
    verdict: 'wrong',
    codes: ['record_missing'],
    evidence: { hints: [{ code: 'wildcard_stops', wildcard: '*.stops.shop.test' }] },
  },
  {
    title: 'a wildcard of the zone that leads here, and a text at a name deeper down',
    hostname: 'deep.team2.shop.test',
    verdict: 'wrong',
    codes: ['record_missing'],
    evidence: { hints: [{ code: 'wildcard_stops', wildcard: '*.shop.test' }] },
  },
  {
    title: 'the first part of the target only',
    hostname: 'first.shop.test',
    verdict: 'wrong',
    codes: ['cname_mismatch'],
    evidence: { found: 'p1.shop.test' },
  },
  {
    title: 'a DNAME record above the name',
    hostname: 'docs.team.shop.test',
    verdict: 'wrong',
    codes: ['cname_mismatch'],
    evidence: { hints: [{ code: 'dname_above', owner: 'team.shop.test', to: 'elsewhere.test' }] },
  },
  {
    title: 'aliases above the name in a circle',
    hostname: 'docs.crew.shop.test',
    verdict: 'unknown',
    codes: ['caa_unknown'],
    evidence: { name: 'crew.shop.test', endless: true },
  },
  {
    title: 'NS records that hand the name to a server nobody finds',
    hostname: 'handed.shop.test',
    verdict: 'unknown',
    codes: ['name_server_unreachable', 'dns_unknown'],
    evidence: { none: true, handed: { parent: 'shop.test' } },
  },
  {
    title: 'an apex that leads here, and no www',
    hostname: 'www.whole.test',
    verdict: 'wrong',
    codes: ['record_missing'],
    evidence: { hints: [{ code: 'apex_leads_here', apex: 'whole.test' }] },
  },
  {
    title: 'an HTTPS record at an apex that hints elsewhere',
    hostname: 'hints.test',
    verdict: 'right',
    codes: ['https_elsewhere'],
    evidence: { records: ['HTTPS 1 . ipv4hint=198.51.100.7'] },
  },
];

describe.skipIf(lacksNameServers('slips in NSD and BIND'))(
  'around a record in NSD and BIND',
  () => {
    let world: RealWorld;
    let check: Check;
    beforeAll(async () => {
      world = await startRealWorld(zones);
      check = checkIn(world);
    });
    afterAll(() => world?.close());

    it.each(cases)('$title', async ({ hostname, verdict, codes, evidence }) => {
      const seen = await check(hostname);
      expect(seen.findings.map(({ code }) => code)).toEqual(codes);
      expect(seen).toMatchObject({ verdict });
      expect(seen.findings[0]).toMatchObject(evidence);
    });
  },
);
