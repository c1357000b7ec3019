/** Zones whose records validate, but not the proofs that a record is missing: no CA can issue. */
import type { Case } from '../case.ts';

const right = 'docs CNAME p1.edge.test.';
const ours = ['@ A 203.0.113.10', '@ A 203.0.113.11', '@ AAAA 2001:db8:1::10'];
const bogus = { verdict: 'wrong', leading: 'dnssec_bogus' } as const;

export const denials: readonly Case[] = [
  {
    title: 'the record is right in a zone that is signed well',
    zones: [{ name: 'signed.test', records: [right], signing: 'well' }],
    hostname: 'docs.signed.test',
    verdict: 'right',
    leading: null,
    record: 'CNAME docs',
    says: null,
    quick: true,
  },
  {
    title: 'the signatures of its NSEC records do not match',
    zones: [{ name: 'denial.test', records: [right], signing: 'bad_denials' }],
    hostname: 'docs.denial.test',
    ...bogus,
    record: 'CNAME docs',
    says: 'the proof that denial.test has no CAA record does not validate',
    quick: true,
  },
  {
    title: 'the signatures of its NSEC3 records do not match',
    zones: [{ name: 'denial1.test', records: [right], signing: 'bad_denials3' }],
    hostname: 'docs.denial1.test',
    ...bogus,
    record: 'CNAME docs',
    says: 'Ask your DNS provider to sign denial1.test again',
  },
  {
    title: 'its NSEC records are left out',
    zones: [
      { name: 'denial2.test', records: [right], servers: ['a.nsd.test'], signing: 'no_denials' },
    ],
    hostname: 'docs.denial2.test',
    ...bogus,
    record: 'CNAME docs',
    says: 'Validating resolvers fail for CAA at denial2.test',
  },
  {
    title: 'negative answers do not validate and CAA forbids',
    zones: [
      {
        name: 'denial3.test',
        records: [right, '@ CAA 0 issue ";"'],
        signing: 'bad_denials',
      },
    ],
    hostname: 'docs.denial3.test',
    verdict: 'wrong',
    leading: 'caa_blocks',
    record: 'CNAME docs',
    says: 'do not let any certificate authority issue',
  },
  {
    title: 'only the signature of its CAA record does not match',
    zones: [
      {
        name: 'denial7.test',
        records: [right, '@ CAA 0 issue "letsencrypt.org"'],
        signing: 'bad_caa',
      },
    ],
    hostname: 'docs.denial7.test',
    ...bogus,
    record: 'CNAME docs',
    says: 'the signature of the CAA records of denial7.test is broken',
  },
  {
    title: 'the negative answer of a level between does not validate',
    zones: [
      {
        name: 'denial4.test',
        records: ['docs.team CNAME p1.edge.test.'],
        servers: ['a.knot.test'],
        signing: 'bad_denials',
      },
    ],
    hostname: 'docs.team.denial4.test',
    ...bogus,
    record: 'CNAME docs.team',
    says: 'the proof that team.denial4.test has no CAA record does not validate',
  },
  {
    title: 'the negative CAA answer of a right apex does not validate',
    zones: [
      { name: 'denial5.test', records: ours, servers: ['a.nsd.test'], signing: 'bad_denials' },
    ],
    hostname: 'denial5.test',
    ...bogus,
    record: 'ALIAS @',
    says: 'the proof that denial5.test has no CAA record does not validate',
  },
  {
    title: 'the record leads elsewhere and negative answers do not validate',
    zones: [
      {
        name: 'denial6.test',
        records: ['docs CNAME other.edge.test.'],
        servers: ['a.nsd.test'],
        signing: 'bad_denials3',
      },
    ],
    hostname: 'docs.denial6.test',
    verdict: 'wrong',
    leading: 'cname_mismatch',
    also: ['dnssec_bogus'],
    record: 'CNAME docs',
    says: 'CNAME docs → other.edge.test',
  },
];
