/**
 * Where an edge of another make obtains the certificates: what it shows at the addresses of a name. Nothing is ordered
 * here. The first handshake with a name is what makes an on-demand edge fetch its certificate, so it is waited for.
 */

import { type HandshakeRules, readServed, type Seen } from '../served/served-certificate.ts';
import { readCertificate } from '../x509.ts';
import type { Issued } from './authority.ts';

/** Our choice: as long as we follow an order of our own. The edge holds the handshake up until it has the certificate. */
const HANDSHAKE_MS = 60_000;
/** How handshakes are made, and with whom. */
export type ExternalAuthorityDeps = Omit<HandshakeRules, 'handshakeMs'> & {
  /** The addresses of a name as the rest of the world resolves it; empty where there are none. */
  readonly lookupAddresses: (hostname: string) => Promise<readonly string[]>;
};

/** No certificate to use yet. `detail`: one line for a person, address by address. */
export type NotServed = {
  readonly kind: 'unavailable';
  readonly retryAfter: null;
  readonly detail: string;
  /** What is not shown yet is no authority that is down. */
  readonly answered: true;
};

/** Stands in for a certificate authority where another edge has the certificates. */
export type ExternalAuthority = {
  /**
   * Resolves with the certificate that is shown, where every address that can be reached from here shows one that is
   * good for the name at this moment; of several, the one that expires first. Never rejects for what the network does.
   */
  readonly check: (hostname: string) => Promise<Issued | NotServed>;
};

/** Why an address shows no good certificate. */
const problems = {
  refused: 'refuses the connection',
  timeout: 'does not answer in time',
  no_certificate: 'ends the handshake without a certificate',
  untrusted: 'shows a certificate that browsers do not trust',
  other_name: 'shows a certificate for another name',
  expired: 'shows a certificate that has expired',
  not_yet_valid: 'shows a certificate that is not valid yet',
} as const;
/** They say nothing about the edge. */
const unasked = {
  no_route: 'cannot be reached from here',
  reserved: 'is an address that nobody on the internet has',
} as const;

type Problem = keyof typeof problems;
type Shown =
  | { readonly address: string; readonly outcome: 'good'; readonly certificate: Issued }
  | { readonly address: string; readonly outcome: Problem | keyof typeof unasked };

/** Returns a check that remembers nothing: each call makes its handshakes, 8 at most. */
export function createExternalAuthority({
  lookupAddresses,
  ...rules
}: ExternalAuthorityDeps): ExternalAuthority {
  return {
    async check(hostname) {
      const addresses = await lookupAddresses(hostname);
      const asked = { ...rules, handshakeMs: HANDSHAKE_MS };
      const seen = await readServed(asked, hostname, addresses);
      return classify(seen.map(toServed), rules.port);
    },
  };
}

function classify(shown: readonly Shown[], port: number): Issued | NotServed {
  const bad = shown.flatMap(({ address, outcome }) =>
    outcome in problems ? [`${address} ${problems[outcome as Problem]}`] : [],
  );
  if (bad.length > 0) return notServed(`on port ${port}, ${bad.join('; ')}`);
  const good = shown.flatMap((one) => (one.outcome === 'good' ? [one.certificate] : []));
  const [first] = good.sort((a, b) => a.notAfter.getTime() - b.notAfter.getTime());
  if (first !== undefined) return first;
  const rest = shown.flatMap(({ address, outcome }) =>
    outcome in unasked ? [`${address} ${unasked[outcome as keyof typeof unasked]}`] : [],
  );
  return notServed(rest.length > 0 ? rest.join('; ') : 'the name has no address');
}

function notServed(detail: string): NotServed {
  return { kind: 'unavailable', retryAfter: null, detail, answered: true };
}

function toServed(seen: Seen): Shown {
  if (seen.outcome !== 'certificate') return seen;
  const { address, certificate, refusal } = seen;
  if (refusal !== null) return { address, outcome: verdicts[refusal] ?? 'untrusted' };
  const chain = certificate.toString();
  const { notBefore, notAfter, issuer } = readCertificate(chain);
  const issued = { kind: 'issued', chain, notBefore, notAfter, issuer } as const;
  return { address, outcome: 'good', certificate: issued };
}

/** Node's codes, after OpenSSL's X509_V_ERR_…; whatever else is wrong with a chain, browsers do not trust it. */
const verdicts: Readonly<Record<string, Problem>> = {
  ERR_TLS_CERT_ALTNAME_INVALID: 'other_name',
  CERT_HAS_EXPIRED: 'expired',
  CERT_NOT_YET_VALID: 'not_yet_valid',
};
