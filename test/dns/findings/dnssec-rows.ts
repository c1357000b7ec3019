/** Signatures that resolvers reject: of everything, or of what is said about CAA alone. */
import { RIGHT, type Row, shop } from './row.ts';

const badSignature = { code: 7, text: 'signature expired' };
const badProof = { code: 12, text: 'NSEC missing' };

export const dnssecRows: readonly Row[] = [
  {
    title: 'has signatures that do not match, as resolvers say',
    world: shop([RIGHT]),
    fails: [['resolver', { kind: 'bogus', errors: [badSignature] }, '.shop.test']],
    verdict: 'wrong',
    codes: ['dnssec_bogus'],
    evidence: { zone: 'shop.test', errors: [badSignature] },
    words: ['shop.test', 'signature expired'],
  },
  {
    title: 'has signatures that do not match, and resolvers do not say why they fail',
    world: shop([RIGHT]),
    fails: [['resolver', { kind: 'bogus', errors: [] }, '.shop.test']],
    verdict: 'wrong',
    codes: ['dnssec_bogus'],
    evidence: { zone: 'shop.test', errors: [] },
    words: ['shop.test', 'DNSSEC'],
  },
  {
    title: 'has another CNAME, and signatures that do not match: both are said in one go',
    world: shop(['docs CNAME other.test.']),
    fails: [['resolver', { kind: 'bogus', errors: [badSignature] }, '.shop.test']],
    verdict: 'wrong',
    codes: ['cname_mismatch', 'dnssec_bogus'],
    about: 'dnssec_bogus',
    evidence: { zone: 'shop.test', errors: [badSignature] },
    words: ['shop.test', 'signature expired'],
  },
  {
    title: 'has no record, and signatures that do not match: both are said in one go',
    world: shop([]),
    fails: [['resolver', { kind: 'bogus', errors: [] }, '.shop.test']],
    verdict: 'wrong',
    codes: ['record_missing', 'dnssec_bogus'],
    about: 'dnssec_bogus',
    evidence: { zone: 'shop.test', errors: [] },
    words: ['Resolvers that check signatures fail; without the check they answer.'],
  },
  {
    title: 'is signed, and its proof that it has no CAA record does not validate',
    world: shop([RIGHT], { signed: ['shop.test'] }),
    fails: [['resolver', { kind: 'bogus', errors: [badProof] }, 'shop.test', 'CAA']],
    verdict: 'wrong',
    codes: ['dnssec_bogus'],
    actor: 'dns_provider',
    evidence: { zone: 'shop.test', errors: [badProof], caa: { at: 'shop.test', isDenial: true } },
    words: [
      'the proof that shop.test has no CAA record does not validate',
      'Ask your DNS provider to sign shop.test again',
      'The DS record is right and stays',
    ],
  },
  {
    title: 'is signed, and the signature of its CAA record does not match',
    world: shop([RIGHT, '@ CAA 0 issue "letsencrypt.org"'], { signed: ['shop.test'] }),
    fails: [['resolver', { kind: 'bogus', errors: [] }, 'shop.test', 'CAA']],
    verdict: 'wrong',
    codes: ['dnssec_bogus'],
    actor: 'dns_provider',
    evidence: { errors: [], caa: { at: 'shop.test', isDenial: false } },
    words: ['the signature of the CAA records of shop.test is broken'],
  },
  {
    title: 'is seen by a resolver only, which rejects the proof that it has no CAA record',
    world: { ...shop([RIGHT]), authoritative: false },
    fails: [['resolver', { kind: 'bogus', errors: [badProof] }, 'shop.test', 'CAA']],
    verdict: 'wrong',
    codes: ['dnssec_bogus'],
    actor: 'dns_provider',
    evidence: { caa: { at: 'shop.test', isDenial: true } },
    words: ['the proof that shop.test has no CAA record does not validate'],
  },
];
