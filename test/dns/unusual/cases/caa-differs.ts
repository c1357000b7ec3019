/** CAA records that are not the same at every server of the zone: a certificate authority may ask any of them. */
import type { Case } from '../case.ts';

const right = 'docs CNAME p1.edge.test.';
const [ours, foreign] = ['CAA 0 issue "letsencrypt.org"', 'CAA 0 issue "ca.example"'];

export const caaDiffers: readonly Case[] = [
  {
    title: 'only the second server forbids',
    zones: [
      {
        name: 'split.test',
        records: [right],
        servers: ['a.bind.test', 'a.nsd.test'],
        apart: { bind: [`@ ${ours}`], nsd: [`@ ${foreign}`] },
      },
    ],
    hostname: 'docs.split.test',
    verdict: 'wrong',
    leading: 'caa_blocks',
    record: 'CNAME docs',
    says: 'a.bind.test has 0 issue "letsencrypt.org", a.nsd.test has 0 issue "ca.example"',
    quick: true,
  },
  {
    title: 'only the first server forbids and the second has no CAA records',
    zones: [{ name: 'split1.test', records: [right], apart: { nsd: [`@ ${foreign}`] } }],
    hostname: 'docs.split1.test',
    verdict: 'wrong',
    leading: 'caa_blocks',
    record: 'CNAME docs',
    says: 'a.bind.test has no CAA records, a.nsd.test has 0 issue "ca.example"',
  },
  {
    title: 'one of three servers forbids between the name and the zone',
    zones: [
      {
        name: 'split3.test',
        records: ['docs.team CNAME p1.edge.test.'],
        servers: ['a.bind.test', 'a.knot.test', 'a.pdns.test'],
        apart: { pdns: [`team ${foreign}`] },
      },
    ],
    hostname: 'docs.team.split3.test',
    verdict: 'wrong',
    leading: 'caa_blocks',
    record: 'CNAME docs.team',
    says: 'a.knot.test has no CAA records, a.pdns.test has 0 issue "ca.example"',
  },
  {
    title: 'a level between allows at one server and the domain forbids at both',
    zones: [
      {
        name: 'split4.test',
        records: ['docs.team CNAME p1.edge.test.', `@ ${foreign}`],
        apart: { bind: [`team ${ours}`] },
      },
    ],
    hostname: 'docs.team.split4.test',
    verdict: 'wrong',
    leading: 'caa_blocks',
    record: 'CNAME docs.team',
    says: 'without any, those of split4.test count: 0 issue "ca.example"',
  },
  {
    title: 'only the second server of a right apex forbids',
    zones: [
      {
        name: 'split5.test',
        records: ['@ A 203.0.113.10', '@ A 203.0.113.11', '@ AAAA 2001:db8:1::10'],
        apart: { nsd: [`@ ${foreign}`] },
      },
    ],
    hostname: 'split5.test',
    verdict: 'wrong',
    leading: 'caa_blocks',
    record: 'ALIAS @',
    says: 'a.bind.test has no CAA records',
  },
  {
    title: 'the record leads elsewhere and only one server forbids',
    zones: [
      {
        name: 'split6.test',
        records: ['docs CNAME other.edge.test.'],
        apart: { bind: [`@ ${foreign}`] },
      },
    ],
    hostname: 'docs.split6.test',
    verdict: 'wrong',
    leading: 'cname_mismatch',
    also: ['caa_blocks'],
    record: 'CNAME docs',
    says: 'CNAME docs → other.edge.test',
  },
  {
    title: 'one of the servers of a separate zone at the same servers forbids',
    zones: [
      { name: 'split7.test', records: ['team NS a.nsd.test.', 'team NS a.bind.test.'] },
      {
        name: 'team.split7.test',
        records: [right],
        apart: { bind: [`@ ${foreign}`], nsd: [`@ ${ours}`] },
      },
    ],
    hostname: 'docs.team.split7.test',
    verdict: 'wrong',
    leading: 'caa_blocks',
    record: 'CNAME docs',
    says: 'a.bind.test has 0 issue "ca.example", a.nsd.test has 0 issue "letsencrypt.org"',
  },
];
