import { type KeyObject, webcrypto, X509Certificate } from 'node:crypto';
import { certificateFault } from './fault.ts';

export type CertificateFacts = {
  readonly notBefore: Date;
  readonly notAfter: Date;
  /** The common name, otherwise the organization, otherwise `unnamed`. */
  readonly issuer: string;
  /** dNSName entries in lower case. */
  readonly hostnames: readonly string[];
};

/**
 * Reads the leaf (RFC 8555, 9.1). Throws `ca_answer_unreadable` if any certificate of the chain is
 * invalid, since TLS serves the whole chain. Checks no signatures or dates.
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

/** Throws `ca_answer_unreadable`. */
export function isForKey(chain: string, key: KeyObject): boolean {
  return parse(chain).checkPrivateKey(key);
}

/** The problem is worded to follow a field's name. */
export type ReadBundle =
  | { readonly ok: true; readonly pem: string }
  | { readonly ok: false; readonly problem: string };

const CERTIFICATE = /^-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----/;

/**
 * `pem` contains only the certificates, without text between them (RFC 7468, 5.2). Refuses other
 * PEM blocks, above all private keys. Checks no signatures or dates. Never throws.
 */
export function readBundle(text: string): ReadBundle {
  const blocks = text.split(/(?=-----BEGIN )/).filter((part) => part.startsWith('-----BEGIN '));
  if (blocks.length === 0) return { ok: false, problem: 'must be certificates in PEM' };
  if (/-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----/.test(text)) {
    return { ok: false, problem: 'contains a private key; it must contain only certificates' };
  }
  const certificates: string[] = [];
  for (const [index, block] of blocks.entries()) {
    const pem = pemOf(block);
    if (pem === null)
      return { ok: false, problem: `has an invalid certificate in block ${index + 1}` };
    certificates.push(pem);
  }
  return { ok: true, pem: certificates.join('') };
}

/** Throws if it is not a certificate in PEM. */
export function readRoot(pem: string) {
  const certificate = new X509Certificate(pem);
  return {
    name: nameOf(certificate.subject),
    fingerprint: certificate.fingerprint256,
    expiresAt: new Date(certificate.validTo),
  };
}

/** SHA-256 of each certificate that `readBundle` returned, as `openssl x509 -fingerprint` shows it. */
export function fingerprintsOf(bundle: string): readonly string[] {
  const blocks = bundle.split(/(?=-----BEGIN )/).filter((part) => part.trim());
  return blocks.map((block) => new X509Certificate(block).fingerprint256);
}

/** In Node's spelling; null if it is invalid or truncated. */
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

/** `distinguishedName`: one `key=value` per line, in any order. */
function nameOf(distinguishedName: string): string {
  const field = (key: string) =>
    distinguishedName
      .split('\n')
      .find((line) => line.startsWith(`${key}=`))
      ?.slice(key.length + 1);
  return field('CN') ?? field('O') ?? 'unnamed';
}

export async function loadX509() {
  await import('reflect-metadata'); // first: tsyringe, below the library, does not load without it
  const x509 = await import('@peculiar/x509');
  x509.cryptoProvider.set(webcrypto);
  return x509;
}

export type X509Library = Awaited<ReturnType<typeof loadX509>>;
