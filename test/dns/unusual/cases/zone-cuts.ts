/** Zones within zones, held by the same servers or delegated to others. */
import type { Case } from '../case.ts';

const right = 'docs CNAME p1.edge.test.';
const ours = ['@ A 203.0.113.10', '@ A 203.0.113.11', '@ AAAA 2001:db8:1::10'];

export const zoneCuts: readonly Case[] = [
  {
    title: 'the record is right',
    zones: [{ name: 'plain.test', records: [right] }],
    hostname: 'docs.plain.test',
    verdict: 'right',
    leading: null,
    record: 'CNAME docs',
    says: null,
    quick: true,
  },
  {
    title: 'the record is missing in a zone at Knot and PowerDNS',
    zones: [{ name: 'bare.test', records: [], servers: ['a.knot.test', 'a.pdns.test'] }],
    hostname: 'docs.bare.test',
    verdict: 'wrong',
    leading: 'record_missing',
    record: 'CNAME docs',
    says: 'enter only “docs”',
  },
  {
    title: 'the name is in a zone that is delegated to other servers',
    zones: [
      { name: 'whole.test', records: ['team NS a.bind.test.'], servers: ['a.nsd.test'] },
      { name: 'team.whole.test', records: [], servers: ['a.bind.test'] },
    ],
    hostname: 'docs.team.whole.test',
    verdict: 'wrong',
    leading: 'record_missing',
    record: 'CNAME docs',
    says: 'enter only “docs”',
  },
  {
    title: 'a separate zone at the same servers has our addresses',
    zones: [
      { name: 'cut.test', records: ['docs NS a.nsd.test.', 'docs NS a.bind.test.'] },
      { name: 'docs.cut.test', records: ours },
    ],
    hostname: 'docs.cut.test',
    verdict: 'right',
    leading: null,
    record: 'ALIAS @',
    says: null,
    quick: true,
  },
  {
    title: 'a separate zone at the same servers has no NS record above',
    zones: [
      { name: 'cut1.test', records: [] },
      { name: 'docs.cut1.test', records: ours },
    ],
    hostname: 'docs.cut1.test',
    verdict: 'right',
    leading: null,
    record: 'ALIAS @',
    says: null,
  },
  {
    title: 'a separate zone at the same servers has foreign addresses',
    zones: [
      { name: 'cut2.test', records: ['docs NS a.knot.test.'], servers: ['a.knot.test'] },
      { name: 'docs.cut2.test', records: ['@ A 198.51.100.7'], servers: ['a.knot.test'] },
    ],
    hostname: 'docs.cut2.test',
    verdict: 'wrong',
    leading: 'apex_elsewhere',
    record: 'ALIAS @',
    says: 'Delete these records of docs.cut2.test: A 198.51.100.7',
  },
  {
    title: 'a separate zone at the same servers has no addresses',
    zones: [
      { name: 'cut3.test', records: ['docs NS a.pdns.test.'], servers: ['a.pdns.test'] },
      { name: 'docs.cut3.test', records: [], servers: ['a.pdns.test'] },
    ],
    hostname: 'docs.cut3.test',
    verdict: 'wrong',
    leading: 'record_missing',
    record: 'ALIAS @',
    says: 'ALIAS',
  },
  {
    // NSD, BIND and Knot refuse such a zone.
    title: 'a separate zone at the same servers has a CNAME at its apex',
    zones: [
      { name: 'alias.test', records: [], servers: ['a.pdns.test', 'b.pdns.test'] },
      {
        name: 'docs.alias.test',
        records: ['@ CNAME p1.edge.test.'],
        servers: ['a.pdns.test', 'b.pdns.test'],
      },
    ],
    hostname: 'docs.alias.test',
    verdict: 'wrong',
    leading: 'cname_at_apex',
    record: 'ALIAS @',
    says: 'not allowed there',
  },
  {
    title: 'a separate zone at the only server has a CNAME at its apex',
    zones: [
      { name: 'alone.test', records: [], servers: ['a.pdns.test'] },
      {
        name: 'docs.alone.test',
        records: ['@ CNAME p1.edge.test.'],
        servers: ['a.pdns.test'],
      },
    ],
    hostname: 'docs.alone.test',
    verdict: 'wrong',
    leading: 'cname_at_apex',
    record: 'ALIAS @',
    says: 'not allowed there',
  },
  {
    title: 'the record is missing in a zone below at the same servers',
    zones: [
      { name: 'deep.test', records: ['team NS a.nsd.test.', 'team NS a.bind.test.'] },
      { name: 'team.deep.test', records: [] },
    ],
    hostname: 'docs.team.deep.test',
    verdict: 'wrong',
    leading: 'record_missing',
    record: 'CNAME docs',
    says: 'enter only “docs”',
    quick: true,
  },
  {
    title: 'the record is right in a zone below at the same servers',
    zones: [
      { name: 'deep1.test', records: ['team NS a.nsd.test.', 'team NS a.bind.test.'] },
      { name: 'team.deep1.test', records: [right] },
    ],
    hostname: 'docs.team.deep1.test',
    verdict: 'right',
    leading: null,
    record: 'CNAME docs',
    says: null,
  },
  {
    title: 'the CNAME leads elsewhere in a zone below at the same servers',
    zones: [
      { name: 'deep2.test', records: ['team NS a.nsd.test.', 'team NS a.bind.test.'] },
      { name: 'team.deep2.test', records: ['docs CNAME other.edge.test.'] },
    ],
    hostname: 'docs.team.deep2.test',
    verdict: 'wrong',
    leading: 'cname_mismatch',
    record: 'CNAME docs',
    says: 'CNAME docs → other.edge.test',
  },
  {
    title: 'addresses block the CNAME in a zone below at the same servers',
    zones: [
      { name: 'deep3.test', records: ['team NS a.pdns.test.'], servers: ['a.pdns.test'] },
      { name: 'team.deep3.test', records: ['docs A 198.51.100.7'], servers: ['a.pdns.test'] },
    ],
    hostname: 'docs.team.deep3.test',
    verdict: 'wrong',
    leading: 'conflicting_a',
    record: 'CNAME docs',
    says: 'Delete the A record 198.51.100.7',
  },
  {
    title: 'the right record is in the zone above, where the zone below hides it',
    zones: [
      {
        name: 'hidden.test',
        records: ['team NS a.nsd.test.', 'docs.team CNAME p1.edge.test.'],
        servers: ['a.nsd.test'],
      },
      { name: 'team.hidden.test', records: [], servers: ['a.nsd.test'] },
    ],
    hostname: 'docs.team.hidden.test',
    verdict: 'wrong',
    leading: 'record_missing',
    record: 'CNAME docs',
    says: 'what the zone hidden.test has for docs.team.hidden.test is ignored',
  },
  {
    title: 'a wildcard leads here in a zone below at the same servers',
    zones: [
      { name: 'wild.test', records: [], servers: ['a.nsd.test'] },
      { name: 'team.wild.test', records: ['* CNAME p1.edge.test.'], servers: ['a.nsd.test'] },
    ],
    hostname: 'docs.team.wild.test',
    verdict: 'right',
    leading: 'wildcard_answers',
    record: 'CNAME docs',
    says: '*.team.wild.test',
  },
  {
    title: 'only one of two servers has a former zone at the name',
    zones: [
      { name: 'stale.test', records: [right] },
      {
        name: 'docs.stale.test',
        records: ['@ A 198.51.100.7'],
        apart: { nsd: 'unknown' },
      },
    ],
    hostname: 'docs.stale.test',
    verdict: 'wrong',
    leading: 'name_servers_disagree',
    record: 'CNAME docs',
    says: 'a.bind.test still shows A 198.51.100.7',
  },
  {
    title: 'a server of the zone above a separate zone is dead',
    zones: [
      { name: 'above.test', records: [], servers: ['a.nsd.test', 'a.dead.test'] },
      {
        name: 'team.above.test',
        records: [right],
        servers: ['a.nsd.test', 'a.dead.test'],
      },
    ],
    hostname: 'docs.team.above.test',
    verdict: 'right',
    leading: 'name_server_unreachable',
    record: 'CNAME docs',
    says: '1 name server of above.test is unreachable',
  },
  {
    title: 'only one of two servers still has the zone at the name, where it is right',
    zones: [
      { name: 'lost.test', records: [] },
      { name: 'docs.lost.test', records: ours, apart: { nsd: 'unknown' } },
    ],
    hostname: 'docs.lost.test',
    verdict: 'wrong',
    leading: 'name_servers_disagree',
    record: 'ALIAS @',
    says: 'a.nsd.test still shows',
  },
];
