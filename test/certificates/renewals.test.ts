import { describe, expect, it } from 'vitest';
import {
  askRenewal,
  type CertificateAuthorities,
  type CertificateAuthority,
  predecessorOf,
  type RenewalInformation,
} from '../../src/certificates/authorities/authority.ts';
import { certificateFault } from '../../src/certificates/fault.ts';
import { noon } from '../support/builders.ts';

const [first, second, gone] = [
  'https://one.test/dir',
  'https://two.test/dir',
  'https://x.test/dir',
];
const sealedKey = new Uint8Array(4);
const chain = 'PEM';
const information: RenewalInformation = {
  window: { start: noon, end: noon },
  explanationUrl: null,
  askAgainAt: noon,
};
const never = () => Promise.reject(new Error('unexpected request'));

function authorities(
  one: CertificateAuthority['renewalInfo'],
  two: CertificateAuthority['renewalInfo'] = never,
): CertificateAuthorities {
  const authority = (directoryUrl: string, renewalInfo: CertificateAuthority['renewalInfo']) => ({
    directoryUrl,
    issuerDomains: ['ca.test'] as const,
    authority: { name: directoryUrl, accountUri: never, reach: never, advance: never, renewalInfo },
  });
  return [authority(first, one), authority(second, two)];
}

describe('The renewal window comes from', () => {
  const asked: string[] = [];
  const says = (name: string) => async (pem: string) => {
    asked.push(`${name} ${pem}`);
    return information;
  };
  const both = authorities(says('one'), says('two'));
  it('the CA that issued the certificate', async () => {
    expect(await askRenewal(both, { authority: second, sealedKey, chain })).toBe(information);
    expect(asked).toEqual(['two PEM']);
  });

  it.each([
    ['belongs to another edge', { authority: null, sealedKey: null, chain }],
    ['is from a CA that is no longer configured', { authority: gone, sealedKey, chain }],
    ['is from the local CA, which is not configured', { authority: null, sealedKey, chain }],
    ['was never issued', { authority: null, sealedKey, chain: null }],
  ])('no CA when the certificate %s', async (_whose, certificate) => {
    expect(await askRenewal(authorities(never), certificate)).toBeNull();
  });

  it('a CA that may be unavailable, which is reported with the time to retry', async () => {
    const certificate = { authority: first, sealedKey, chain };
    const say = (code: 'ca_unreachable' | 'ca_failed') =>
      askRenewal(
        authorities(() => Promise.reject(certificateFault(code, 'no', { retryAfter: noon }))),
        certificate,
      );
    const silence = { kind: 'silence', retryAfter: noon };
    expect(await say('ca_unreachable')).toEqual({ ...silence, isAway: true });
    expect(await say('ca_failed')).toEqual({ ...silence, isAway: false });
  });

  it('a request whose configuration errors are thrown', async () => {
    const certificate = { authority: first, sealedKey, chain };
    await expect(askRenewal(authorities(never), certificate)).rejects.toThrow('unexpected request');
  });
});

describe('A new order names the certificate it replaces', () => {
  const ours = authorities(never);
  const issuedBy = (authority: string | null) => ({ authority, sealedKey, chain });
  it.each([
    ['to the CA that issued it', first, issuedBy(first), chain],
    ['not to another CA than the local one', first, issuedBy(null), undefined],
    ['only to the CA that issued it', second, issuedBy(first), undefined],
    ['only if its CA is still configured', first, issuedBy(gone), undefined],
    ['only if there is one', first, null, undefined],
  ])('%s', (_whom, authority, predecessor, replaced) => {
    expect(predecessorOf(ours, { authority }, predecessor)).toBe(replaced);
  });
});
