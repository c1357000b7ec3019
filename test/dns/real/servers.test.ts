/** Name servers that differ, fail or are down, and how they are reported. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Finding } from '../../../src/core/diagnosis/findings.ts';
import { type Check, type Checked, checkIn } from './check.ts';
import { lacksNameServers, type RealWorld, startRealWorld } from './world.ts';
import { BOTH, type RealZone } from './zones.ts';

const [NSD, BIND] = BOTH;
const right = ['docs CNAME p1.edge.test.'];
const foreign = ['docs CNAME elsewhere.edge.test.'];

type Case = {
  readonly title: string;
  readonly zone: RealZone;
  readonly verdict: Checked['verdict'];
  readonly findings: readonly Partial<Finding>[];
};

/** Each check is of `docs` in the zone. */
const cases: readonly Case[] = [
  {
    title: 'the record is at NSD alone',
    zone: { name: 'first.test', records: [], ns1: right },
    verdict: 'wrong',
    findings: [
      {
        code: 'name_servers_disagree',
        right: [NSD],
        others: [{ server: BIND, shows: 'no such name' }],
      },
    ],
  },
  {
    title: 'the record is at BIND alone and NSD has the old one',
    zone: { name: 'second.test', records: [], ns1: foreign, ns2: right },
    verdict: 'wrong',
    findings: [
      {
        code: 'name_servers_disagree',
        right: [BIND],
        others: [{ server: NSD, shows: 'CNAME elsewhere.edge.test' }],
      },
    ],
  },
  {
    title: 'one server is down',
    zone: { name: 'half.test', records: right, atParent: [NSD, 'down.nic.test'] },
    verdict: 'right',
    findings: [
      {
        code: 'name_server_unreachable',
        zone: 'half.test',
        servers: [{ server: 'down.nic.test', outcome: 'timeout' }],
      },
    ],
  },
  {
    title: 'the only server is down',
    zone: { name: 'gone.test', records: right, atParent: ['down.nic.test'] },
    verdict: 'unknown',
    findings: [{ code: 'dns_unknown', servers: [{ server: 'down.nic.test', outcome: 'timeout' }] }],
  },
  {
    title: 'BIND does not know the zone',
    zone: { name: 'lame.test', records: right, ns2: 'unknown' },
    verdict: 'right',
    findings: [{ code: 'name_server_lame', servers: [{ server: BIND, outcome: 'refused' }] }],
  },
  {
    title: 'NSD does not know the zone',
    zone: { name: 'lame1.test', records: right, ns1: 'unknown' },
    verdict: 'right',
    findings: [{ code: 'name_server_lame', servers: [{ server: NSD, outcome: 'refused' }] }],
  },
  {
    title: 'BIND has never received the zone',
    zone: { name: 'stale.test', records: right, ns2: 'not_received' },
    verdict: 'right',
    findings: [{ code: 'name_server_lame', servers: [{ server: BIND, outcome: 'servfail' }] }],
  },
  {
    title: 'NSD has never received the zone',
    zone: { name: 'stale1.test', records: right, ns1: 'not_received' },
    verdict: 'right',
    findings: [{ code: 'name_server_lame', servers: [{ server: NSD, outcome: 'servfail' }] }],
  },
  {
    title: 'the registry and the zone name different servers',
    zone: { name: 'moved.test', records: right, atZone: [BIND, 'also.nic.test'] },
    verdict: 'right',
    findings: [
      {
        code: 'delegation_mismatch',
        zone: 'moved.test',
        parent: 'test',
        onlyAtParent: [NSD],
        onlyAtZone: ['also.nic.test'],
      },
    ],
  },
];

describe.skipIf(lacksNameServers('NSD and BIND that differ'))('when', () => {
  let world: RealWorld;
  let check: Check;
  beforeAll(async () => {
    world = await startRealWorld(cases.map(({ zone }) => zone));
    check = checkIn(world);
  });
  afterAll(() => world?.close());

  it.each(cases)('$title, the verdict is $verdict', async ({ zone, verdict, findings }) => {
    const seen = await check(`docs.${zone.name}`);
    expect(seen.verdict).toBe(verdict);
    expect(seen.findings).toMatchObject(findings);
  });
});
