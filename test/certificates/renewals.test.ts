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
const never = () => Promise.reject(new Error('nobody is to be asked'));

/** Two, each with what it says of a certificate. */
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

describe('When to renew a certificate is asked of', () => {
  const asked: string[] = [];
  const says = (name: string) => async (pem: string) => {
    asked.push(`${name} ${pem}`);
    return information;
  };
  const both = authorities(says('one'), says('two'));
  it.each([
    ['the authority that issued it', second, 'two PEM'],
    ['the first, where it is from before there were several', null, 'one PEM'],
  ])('%s', async (_whom, authority, question) => {
    asked.splice(0);
    expect(await askRenewal(both, { authority, sealedKey, chain })).toBe(information);
    expect(asked).toEqual([question]);
  });

  it.each([
    ['is another edge’s', { authority: null, sealedKey: null, chain }],
    ['is of an authority that is none of ours any more', { authority: gone, sealedKey, chain }],
    ['was never issued', { authority: null, sealedKey, chain: null }],
  ])('nobody where it %s', async (_whose, certificate) => {
    expect(await askRenewal(authorities(never), certificate)).toBeNull();
  });

  it('an authority that does not answer: so much is known, and when it may be asked again', async () => {
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

  it('and a fault of ours stays one', async () => {
    const certificate = { authority: first, sealedKey, chain };
    await expect(askRenewal(authorities(never), certificate)).rejects.toThrow('nobody is');
  });
});

describe('An order says what it replaces', () => {
  const ours = authorities(never);
  const issuedBy = (authority: string | null) => ({ authority, sealedKey, chain });
  it.each([
    ['to the authority that issued that', first, issuedBy(first), chain],
    ['to the first, also where that was before there were several', first, issuedBy(null), chain],
    ['to no other authority', second, issuedBy(first), undefined],
    ['to none where that is none of ours any more', first, issuedBy(gone), undefined],
    ['where there is a certificate before it', first, null, undefined],
  ])('%s', (_whom, authority, predecessor, replaced) => {
    expect(predecessorOf(ours, { authority }, predecessor)).toBe(replaced);
  });
});
