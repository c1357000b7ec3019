/** Reads what we need to know of a certificate. */
import { type KeyObject, webcrypto, X509Certificate } from 'node:crypto';
import { certificateFault } from './fault.ts';

/** What is stored and shown of a certificate. */
export type CertificateFacts = {
  readonly notBefore: Date;
  readonly notAfter: Date;
  /** The issuer's common name, else its organization, else `unnamed`. */
  readonly issuer: string;
  /** The dNSName entries in lower case; addresses and other kinds are left out. */
  readonly hostnames: readonly string[];
};

/**
 * Reads the first certificate of a PEM chain (the leaf, RFC 8555, 9.1). Throws `ca_answer_unreadable` where it or one
 * after it cannot be read, because TLS serves the chain whole or not at all. Checks no signature and no date.
 */
export function readCertificate(chain: string): CertificateFacts {
  const [first = '', ...others] = chain.split(/(?=-----BEGIN )/).filter((part) => part.trim());
  const certificate = parse(first);
  others.forEach(parse);
  return {
    // Node 20 has the dates as text only, always in GMT.
    notBefore: new Date(certificate.validFrom),
    notAfter: new Date(certificate.validTo),
    issuer: nameOf(certificate.issuer),
    hostnames: [...(certificate.subjectAltName ?? '').matchAll(/DNS:([^,\s"]+)/g)].map(
      ([, name = '']) => name.toLowerCase(),
    ),
  };
}

/** Whether a chain's leaf is for this private key. Throws `ca_answer_unreadable`. */
export function isForKey(chain: string, key: KeyObject): boolean {
  return parse(chain).checkPrivateKey(key);
}

/** A bundle of certificates in PEM, or what is wrong with it: words to stand behind the name of a field. */
export type ReadBundle =
  | { readonly ok: true; readonly pem: string }
  | { readonly ok: false; readonly problem: string };

const CERTIFICATE = /^-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/;

/**
 * Reads certificates that somebody trusts. `pem` is the certificates and nothing else: words between them (RFC 7468, 5.2) are
 * left out. Anything else in PEM is refused, a private key above all. Checks no signature and no date. Never throws.
 */
export function readBundle(text: string): ReadBundle {
  const blocks = text.split(/(?=-----BEGIN )/).filter((part) => part.startsWith('-----BEGIN '));
  if (blocks.length === 0) return { ok: false, problem: 'must be certificates in PEM' };
  if (/-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----/.test(text)) {
    return { ok: false, problem: 'has a private key in it; it must be certificates alone' };
  }
  const certificates: string[] = [];
  for (const [index, block] of blocks.entries()) {
    const pem = pemOf(block);
    if (pem === null) return { ok: false, problem: `has no certificate as its part ${index + 1}` };
    certificates.push(pem);
  }
  return { ok: true, pem: certificates.join('') };
}

/** The certificate as Node writes it; null where the text is none, or breaks off. */
function pemOf(block: string): string | null {
  const [certificate] = CERTIFICATE.exec(block) ?? [];
  if (certificate === undefined) return null;
  try {
    return new X509Certificate(certificate).toString();
  } catch {
    return null;
  }
}

function parse(chain: string): X509Certificate {
  try {
    return new X509Certificate(chain);
  } catch (cause) {
    throw certificateFault('ca_answer_unreadable', 'the certificate cannot be read', { cause });
  }
}

/** `CN=a\nO=b` in whatever order. */
function nameOf(distinguishedName: string): string {
  const field = (key: string) =>
    distinguishedName
      .split('\n')
      .find((line) => line.startsWith(`${key}=`))
      ?.slice(key.length + 1);
  return field('CN') ?? field('O') ?? 'unnamed';
}

/**
 * Resolves with the library over Node's own WebCrypto, loaded by the first call: that takes some 150 ms, which neither a
 * start nor a process that makes no certificate has to wait for. Further calls cost nothing.
 */
export async function loadX509() {
  await import('reflect-metadata'); // first: tsyringe, below the library, does not load without it
  const x509 = await import('@peculiar/x509');
  x509.cryptoProvider.set(webcrypto);
  return x509;
}

/** The module of @peculiar/x509, as `loadX509` gives it. */
export type X509Library = Awaited<ReturnType<typeof loadX509>>;
