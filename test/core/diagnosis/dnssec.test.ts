/** Signatures that resolvers reject beyond the host name: of a zone whose record is wrong, and of denials of CAA. */
import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../src/core/diagnosis/diagnosis.ts';
import { explain } from '../../../src/core/diagnosis/findings.ts';
import type { Observation, ValidationView } from '../../../src/core/diagnosis/observation.ts';
import {
  expectedFor,
  nodata,
  observed,
  records,
  resolver,
  server,
  servfail,
  target,
} from '../support/observations.ts';
import { hostname, nasty } from '../support/sample-findings.ts';

const ZONE = 'example.com';
const right = server({ cname: records(target) });
const wrong = server({ cname: records('other.example.net') });
const climb = [
  { name: hostname, publishedAt: target, answer: nodata },
  { name: ZONE, answer: nodata },
  { name: 'com', answer: nodata },
];

const failing = (shown: Partial<ValidationView> = {}): ValidationView => ({
  server: '8.8.8.8',
  name: ZONE,
  type: 'CAA',
  outcome: 'servfail',
  unchecked: 'nodata',
  answersUnchecked: true,
  errors: [],
  ...shown,
});
const answering = failing({ server: '9.9.9.9', outcome: 'nodata', answersUnchecked: null });
const silent = failing({ server: '9.9.9.9', outcome: 'timeout', answersUnchecked: null });
const filtered = failing({ errors: [{ code: 17, text: '' }] });
const unreached = failing({ errors: [{ code: 22, text: '' }] });
const soa = (shown: Partial<ValidationView> = {}) => failing({ type: 'SOA', ...shown });

function found(view: typeof right, signatures: readonly ValidationView[], rest = {}) {
  const seen: Partial<Observation> = { caa: climb, signatures, ...rest };
  const { verdict, findings } = diagnose(observed(hostname, [view], seen), expectedFor(hostname));
  return { verdict, codes: findings.map(({ code }) => code), findings };
}

describe('a denial of CAA', () => {
  it.each<[string, readonly ValidationView[], 'right' | 'wrong']>([
    ['that every resolver rejects is bad', [failing()], 'wrong'],
    ['that one rejects while another is silent is bad', [failing(), silent], 'wrong'],
    ['that another one takes is good', [failing(), answering], 'right'],
    ['that nobody answers is our side', [silent], 'right'],
    ['that a filter keeps back is the filter’s', [filtered], 'right'],
    ['that fails for another reason says nothing', [unreached], 'right'],
    [
      'that fails without the check, too, says nothing',
      [failing({ answersUnchecked: false })],
      'right',
    ],
    ['of a level that the climb has not passed is nobody’s', [failing({ name: 'x.net' })], 'right'],
  ])('%s', (_what, signatures, verdict) => {
    const codes = verdict === 'wrong' ? ['dnssec_bogus'] : [];
    expect(found(right, signatures)).toMatchObject({ verdict, codes });
  });

  it('is said to be one, of its name, and is the provider’s to mend', () => {
    const [finding] = found(right, [failing({ errors: [{ code: 9, text: '' }] })]).findings;
    expect(finding).toMatchObject({ zone: ZONE, caa: { at: ZONE, isDenial: true } });
    expect(finding && explain(finding)).toMatchObject({
      actor: 'dns_provider',
      summary: `DNSSEC of ${ZONE} is broken in one place: the proof that ${ZONE} has no CAA record does not validate, so no certificate can be issued for ${hostname}.`,
      action: `Ask your DNS provider to sign ${ZONE} again: its proofs that a record is missing (NSEC or NSEC3) are broken, at least the one for CAA at ${ZONE}. The DS record is right and stays. We check again automatically.`,
    });
  });

  it('behind an alias is that of the zone where the alias leads', () => {
    const caa = [climb[0], { name: ZONE, publishedAt: 'shop.other.net', answer: nodata }];
    expect(found(right, [failing()], { caa }).findings).toMatchObject([
      { zone: 'other.net', caa: { at: ZONE } },
    ]);
  });

  it('takes the place of an answer that resolvers did not give', () => {
    const caa = [climb[0], { name: ZONE, answer: servfail }];
    expect(found(right, [failing()], { caa, view: 'recursive' }).codes).toEqual(['dnssec_bogus']);
    expect(found(right, [unreached], { caa, view: 'recursive' }).codes).toEqual(['caa_unknown']);
  });

  it('is not worth a word where every answer is rejected', () => {
    const world = [
      resolver({ cname: servfail, a: servfail, aaaa: servfail, answersUnchecked: true }),
    ];
    const { findings } = found(right, [failing()], { world });
    expect(findings).toEqual([expect.not.objectContaining({ caa: expect.anything() })]);
  });
});

describe('a zone whose record is wrong', () => {
  it.each<[string, readonly ValidationView[], readonly string[]]>([
    ['is said to have bad signatures as well', [soa()], ['cname_mismatch', 'dnssec_bogus']],
    ['is fine by one resolver’s word', [soa(), soa({ outcome: 'records' })], ['cname_mismatch']],
    ['is not blamed for a silent resolver', [soa({ outcome: 'timeout' })], ['cname_mismatch']],
    [
      'is said to have bad denials as well',
      [soa({ outcome: 'records' }), failing()],
      ['cname_mismatch', 'dnssec_bogus'],
    ],
  ])('%s', (_what, signatures, codes) => {
    expect(found(wrong, signatures)).toMatchObject({ verdict: 'wrong', codes });
  });

  it('is said nothing of where nobody could say where the name points', () => {
    const mute = server({ state: 'timeout', cname: servfail, a: servfail, aaaa: servfail });
    expect(found(mute, [soa()]).codes).not.toContain('dnssec_bogus');
  });
});

it('what resolvers and zones say of it fills no page', () => {
  const caa = [climb[0], { name: nasty, answer: nodata }];
  const [finding] = found(right, [failing({ name: nasty, errors: [{ code: 6, text: nasty }] })], {
    caa,
  }).findings;
  const texts = Object.values(finding ? explain(finding) : {}).filter(
    (one) => typeof one === 'string',
  );
  expect(texts).toHaveLength(7);
  for (const text of texts) {
    expect(text).toMatch(/^[\x20-\x7e“”’–→…]*$/);
    expect(text.length).toBeLessThan(2_000);
  }
});
