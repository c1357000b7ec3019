/** Wrong records in zones with bad signatures: both are reported at once. */
import type { Case } from '../case.ts';

const wrong = { verdict: 'wrong', also: ['dnssec_bogus'] } as const;

export const bogusAndWrong: readonly Case[] = [
  {
    title: 'the CNAME leads elsewhere and signatures have expired',
    zones: [{ name: 'late.test', records: ['docs CNAME other.edge.test.'], signing: 'expired' }],
    hostname: 'docs.late.test',
    ...wrong,
    leading: 'cname_mismatch',
    record: 'CNAME docs',
    says: 'CNAME docs → other.edge.test',
    quick: true,
  },
  {
    title: 'an address blocks the CNAME and the DS record is for another key',
    zones: [
      {
        name: 'late1.test',
        records: ['docs A 198.51.100.7'],
        servers: ['a.knot.test', 'a.pdns.test'],
        signing: 'ds_mismatch',
      },
    ],
    hostname: 'docs.late1.test',
    ...wrong,
    leading: 'conflicting_a',
    record: 'CNAME docs',
    says: 'Delete the A record 198.51.100.7',
  },
  {
    title: 'the record is missing and a zone with a DS record is unsigned',
    zones: [{ name: 'late2.test', records: [], signing: 'stripped' }],
    hostname: 'docs.late2.test',
    ...wrong,
    leading: 'record_missing',
    record: 'CNAME docs',
    says: 'enter only “docs”',
  },
  {
    title: 'the apex has foreign addresses and signatures are not valid yet',
    zones: [
      {
        name: 'late3.test',
        records: ['@ A 198.51.100.7'],
        servers: ['a.nsd.test'],
        signing: 'early',
      },
    ],
    hostname: 'late3.test',
    ...wrong,
    leading: 'apex_elsewhere',
    record: 'ALIAS @',
    says: 'Delete these records of late3.test: A 198.51.100.7',
  },
];
