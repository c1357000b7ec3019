import { describe, expect, it } from 'vitest';
import {
  compareServed,
  type Handshake,
  hasProblem,
  type ShownOutcome,
} from '../../src/core/certificates/served.ts';

const certificate = (
  parts: Partial<Extract<Handshake, { outcome: 'certificate' }>>,
): Handshake => ({
  address: '192.0.2.1',
  outcome: 'certificate',
  fingerprint: 'AA',
  issuer: 'Test CA',
  names: ['docs.shop.test'],
  ...parts,
});
const compare = (one: Handshake) => compareServed([one], ['AA', 'BB', 'CC'])[0];

describe('a served certificate', () => {
  it.each([
    ['AA', 'ours'],
    ['BB', 'ours_before'],
    ['CC', 'ours_before'],
    ['DD', 'other'],
  ])('with the fingerprint %s is %s', (fingerprint, outcome) => {
    expect(compare(certificate({ fingerprint }))).toEqual({
      address: '192.0.2.1',
      outcome,
      issuer: 'Test CA',
      names: ['docs.shop.test'],
    });
  });

  it('is another one when none is stored', () => {
    expect(compareServed([certificate({})], [])).toMatchObject([{ outcome: 'other' }]);
  });

  it('is shown as escaped and truncated text', () => {
    const shown = compare(
      certificate({
        fingerprint: 'DD',
        issuer: `\u001b[2J\u202eAC\n${'x'.repeat(1_000)}`,
        names: Array.from({ length: 99 }, () => `\u0000${'a'.repeat(1_000)}`),
      }),
    );
    expect(shown?.issuer).toMatch(/^\\u\{1b\}\[2J\\u\{202e\}AC\\u\{a\}x{92}…$/);
    expect(shown?.names).toHaveLength(5);
    expect(shown?.names[0]).toMatch(/^\\u\{0\}a{252}…$/);
  });
});

it('an address without a certificate is reported with the reason', () => {
  expect(compare({ address: '2001:db8::1', outcome: 'timeout' })).toEqual({
    address: '2001:db8::1',
    outcome: 'timeout',
    issuer: null,
    names: [],
  });
});

describe('a check of the served certificate has a problem', () => {
  const nothing: ShownOutcome[] = ['ours', 'no_route', 'reserved'];
  const something: ShownOutcome[] = [
    'ours_before',
    'other',
    'no_certificate',
    'refused',
    'timeout',
  ];
  const table = [
    ...nothing.map((outcome) => [outcome, false] as const),
    ...something.map((outcome) => [outcome, true] as const),
  ];
  it.each(table)('with one that is %s: %s', (outcome, expected) => {
    const one = { address: '192.0.2.1', issuer: null, names: [] };
    const addresses = [{ ...one, outcome: 'ours' } as const, { ...one, outcome }];
    expect(hasProblem({ checkedAt: new Date(0), addresses })).toBe(expected);
  });
});
