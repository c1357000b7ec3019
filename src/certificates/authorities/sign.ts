/** Signs X.509 certificates (RFC 5280, 4.1) with P-256 keys. */
import type { KeyObject } from 'node:crypto';
import type { Extension, X509Certificate } from '@peculiar/x509';
import { ECDSA_SHA256, publicKeyInfo, toCryptoKeys } from '../vault/keys.ts';
import { loadX509, type X509Library } from '../x509.ts';

/** Both ends are inclusive (RFC 5280, 4.1.2.5). */
export type Validity = { readonly notBefore: Date; readonly notAfter: Date };

/** `key`: the root's P-256 private key. */
export type RootContent = Validity & { readonly commonName: string; readonly key: KeyObject };

export type LeafContent = Validity & {
  /** ASCII; can exceed a common name's 64 characters. */
  readonly hostname: string;
  /** Private or public; only its public part is used. */
  readonly key: KeyObject;
};

export type Issuer = { readonly certificate: string; readonly key: KeyObject };

/** Self-signed, in PEM. It can sign certificates and revocation lists, without intermediate CAs. */
export async function signRoot({ commonName, key, ...validity }: RootContent): Promise<string> {
  const x509 = await loadX509();
  const keys = await toCryptoKeys(key);
  const { keyCertSign, cRLSign } = x509.KeyUsageFlags;
  const root = await x509.X509CertificateGenerator.createSelfSigned({
    name: [{ CN: [commonName] }],
    keys,
    signingAlgorithm: ECDSA_SHA256,
    ...validity,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(keyCertSign | cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return toPem(root);
}

/** PEM. Its subject is empty: the name is in the subjectAltName. */
export async function signLeaf(content: LeafContent, issuer: Issuer): Promise<string> {
  const { hostname, key, ...validity } = content;
  const x509 = await loadX509();
  const root = new x509.X509Certificate(issuer.certificate);
  const publicKey = publicKeyInfo(key);
  const leaf = await x509.X509CertificateGenerator.create({
    issuer: root.subjectName,
    publicKey,
    signingKey: (await toCryptoKeys(issuer.key)).privateKey,
    signingAlgorithm: ECDSA_SHA256,
    ...validity,
    extensions: [
      ...serverExtensions(x509, hostname),
      await x509.SubjectKeyIdentifierExtension.create(publicKey),
      authorityKeyIdentifier(x509, root),
    ],
  });
  return toPem(leaf);
}

/** PEM, only the name and the proof (RFC 8737, 3). `identifier`: acmeIdentifier in DER. */
export async function signProof(content: LeafContent, identifier: Buffer): Promise<string> {
  const { hostname, key, ...validity } = content;
  const x509 = await loadX509();
  const proof = await x509.X509CertificateGenerator.createSelfSigned({
    // An issuer must have a name (RFC 5280, 4.1.2.4), and the host name can be too long for one.
    name: [{ CN: ['tls-alpn-01'] }],
    keys: await toCryptoKeys(key),
    signingAlgorithm: ECDSA_SHA256,
    ...validity,
    extensions: [
      new x509.SubjectAlternativeNameExtension([{ type: 'dns', value: hostname }]),
      new x509.Extension(identifier),
    ],
  });
  return toPem(proof);
}

function serverExtensions(x509: X509Library, hostname: string): Extension[] {
  return [
    new x509.BasicConstraintsExtension(false, undefined, true),
    new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
    new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
    // Critical because the subject is empty (RFC 5280, 4.2.1.6).
    new x509.SubjectAlternativeNameExtension([{ type: 'dns', value: hostname }], true),
  ];
}

/** Copied: it must equal the root's identifier, however that was made (RFC 5280, 4.2.1.1). */
function authorityKeyIdentifier(x509: X509Library, root: X509Certificate): Extension {
  const identifier = root.getExtension(x509.SubjectKeyIdentifierExtension);
  if (identifier === null) throw new Error('the root has no subject key identifier');
  return new x509.AuthorityKeyIdentifierExtension(identifier.keyId);
}

function toPem(certificate: X509Certificate): string {
  return `${certificate.toString('pem')}\n`; // chains are concatenated line by line
}

/** DER. The subject is empty: the subjectAltName can exceed 64 characters (RFC 8555, 7.4). */
export async function createSigningRequest(hostname: string, key: KeyObject): Promise<Buffer> {
  const { Pkcs10CertificateRequestGenerator, SubjectAlternativeNameExtension } = await loadX509();
  const request = await Pkcs10CertificateRequestGenerator.create({
    keys: await toCryptoKeys(key),
    signingAlgorithm: ECDSA_SHA256,
    extensions: [new SubjectAlternativeNameExtension([{ type: 'dns', value: hostname }])],
  });
  return Buffer.from(request.rawData);
}
