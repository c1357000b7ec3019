/** Name servers without customers' records. */
import { describe, expect, it } from 'vitest';
import { diagnose } from '../../../src/core/diagnosis/diagnosis.ts';
import { parkingOf, parkingRules } from '../../../src/core/diagnosis/parking.ts';
import { providerOf } from '../../../src/core/diagnosis/providers.ts';
import {
  delegated,
  expectedFor,
  observed,
  records,
  server,
  target,
} from '../support/observations.ts';

describe('The name servers', () => {
  it.each([
    [['ns1.sedoparking.com', 'NS2.SEDOPARKING.COM.'], { kind: 'parked', by: 'Sedo' }],
    [['ns1.pendingrenewaldeletion.com'], { kind: 'expired', by: 'Network Solutions' }],
    [['parking1.ovh.net'], { kind: 'parked', by: 'OVHcloud' }],
    [['dns12.ovh.net'], null],
    [['ns1.sedoparking.com', 'ns1.example.net'], null],
    [['notsedoparking.com'], null],
    [[], null],
  ])('%j belong to %j', (names, parking) => {
    expect(parkingOf(names)).toEqual(parking);
  });

  it.each(
    parkingRules.flatMap(({ suffixes, source }) => suffixes.map((suffix) => [suffix, source])),
  )('%s has a source, and does not belong to a DNS provider', (suffix = '', source = '') => {
    expect(source).toMatch(/^https:\/\//);
    const provider = providerOf([suffix]);
    expect([null, 'OVHcloud']).toContain(provider?.name ?? null);
  });
});

it('A domain with a parking provider’s name servers is right if its name points here', () => {
  const delegation = delegated(['ns1.sedoparking.com']);
  const right = observed('docs.example.com', [server({ cname: records(target) })], { delegation });
  expect(diagnose(right, expectedFor('docs.example.com'))).toMatchObject({
    verdict: 'right',
    findings: [],
  });
});
