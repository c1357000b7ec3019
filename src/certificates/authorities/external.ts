/** Reads an external edge's certificates, which it may obtain at the first handshake. */

import { MINUTE } from '../../core/time.ts';
import {
  type HandshakeRules,
  readServed,
  type ServedResult,
} from '../served/served-certificate.ts';
import { readCertificate } from '../x509.ts';
import type { Issued } from './authority.ts';

/** The edge delays the handshake until it has the certificate. */
const HANDSHAKE_MS = MINUTE;
export type ExternalAuthorityDeps = Omit<HandshakeRules, 'handshakeMs'> & {
  /** The public addresses of a name. */
  readonly lookupAddresses: (hostname: string) => Promise<readonly string[]>;
};

/** `detail`: one line for a person, address by address. */
type NotServed = {
  readonly kind: 'unavailable';
  readonly retryAfter: null;
  readonly detail: string;
  /** "Not served yet" does not mean the CA is down. */
  readonly answered: true;
};

export type ExternalAuthority = {
  /** Every reachable address must serve a valid one. Never rejects on network failures. */
  readonly check: (hostname: string) => Promise<Issued | NotServed>;
};

/** Why an address serves no valid certificate. */
const problems = {
  refused: 'refuses the connection',
  timeout: 'does not answer in time',
  no_certificate: 'ends the handshake without a certificate',
  untrusted: 'serves a certificate that browsers do not trust',
  other_name: 'serves a certificate for another name',
  expired: 'serves an expired certificate',
  not_yet_valid: 'serves a certificate that is not valid yet',
} as const;
/** These say nothing about the edge. */
const unasked = {
  no_route: 'cannot be reached from here',
  reserved: 'is not a public address',
} as const;

type ServedProblem = keyof typeof problems;
type Shown =
  | { readonly address: string; readonly outcome: 'good'; readonly certificate: Issued }
  | { readonly address: string; readonly outcome: ServedProblem | keyof typeof unasked };

/** Each call makes at most 8 handshakes. */
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
    outcome in problems ? [`${address} ${problems[outcome as ServedProblem]}`] : [],
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

function toServed(seen: ServedResult): Shown {
  if (seen.outcome !== 'certificate') return seen;
  const { address, certificate, refusal } = seen;
  if (refusal !== null) return { address, outcome: verdicts[refusal] ?? 'untrusted' };
  const chain = certificate.toString();
  const { notBefore, notAfter, issuer } = readCertificate(chain);
  const issued = { kind: 'issued', chain, notBefore, notAfter, issuer } as const;
  return { address, outcome: 'good', certificate: issued };
}

/** Node's codes, from OpenSSL's X509_V_ERR_…; any other means untrusted. */
const verdicts: Readonly<Record<string, ServedProblem>> = {
  ERR_TLS_CERT_ALTNAME_INVALID: 'other_name',
  CERT_HAS_EXPIRED: 'expired',
  CERT_NOT_YET_VALID: 'not_yet_valid',
};
