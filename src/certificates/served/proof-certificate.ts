/** The certificates that answer tls-alpn-01 challenges, and the probes of ours that ask for one (RFC 8737, 3). */

import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:tls';
import { DAY } from '../../core/time.ts';
import { signProof } from '../authorities/sign.ts';
import { generateCertificateKey, privateKeyToPem } from '../vault/keys.ts';

/** A certificate as the edge shows it in a handshake. */
export type EdgeCertificate = {
  /** PEM, the leaf first. */
  readonly chain: string;
  /** PKCS#8 PEM, opened. A Buffer is zeroed by whoever has used it. */
  readonly key: string | Buffer;
};

/** id-pe-acmeIdentifier (1.3.6.1.5.5.7.1.31), critical, and the head of its value: an OCTET STRING of 32 bytes. */
const IDENTIFIER_HEAD = Buffer.from('303106082b0601050507011f0101ff04220420', 'hex');

/** Returns the acmeIdentifier extension of a key authorization, in DER (RFC 8737, 3). */
export function acmeIdentifier(keyAuthorization: string): Buffer {
  const digest = createHash('sha256').update(keyAuthorization).digest();
  return Buffer.concat([IDENTIFIER_HEAD, digest]);
}

/**
 * Returns a function that makes the certificate for whatever `findProof` gives; null where that does. All have one key,
 * made at the first need: what counts is the digest, and nobody trusts them for anything else.
 */
export function createProofCertificates(
  findProof: (hostname: string, probeToken: string | null) => Promise<string | null>,
  now: () => Date,
): (hostname: string, probeToken: string | null) => Promise<EdgeCertificate | null> {
  let known: ReturnType<typeof generateCertificateKey> | undefined;
  return async (hostname, probeToken) => {
    const proof = await findProof(hostname, probeToken);
    if (proof === null) return null;
    known ??= generateCertificateKey();
    const at = now().getTime();
    // The dates are not ours to check: clocks differ.
    const validity = { notBefore: new Date(at - DAY), notAfter: new Date(at + DAY) };
    const chain = await signProof({ hostname, key: known, ...validity }, acmeIdentifier(proof));
    return { chain, key: privateKeyToPem(known) };
  };
}

const PROTOCOL = 'acme-tls/1';

/** One handshake to make, and what it must show. */
export type TlsQuestion = {
  readonly address: string;
  readonly port: number;
  readonly hostname: string;
  /** Of `Probes.newToken`; it is offered as the second protocol. */
  readonly token: string;
  /** The proof that an edge of ours would show: `Probes.answerTo` of the token. */
  readonly answer: string;
  /** For connection and handshake together. */
  readonly timeoutMs: number;
};

/**
 * Whether the certificate of the answer is shown there; false where the handshake is refused or shows another one.
 * Rejects where there is no connection, it is cut off, or nothing comes in time.
 */
export async function showsProof(question: TlsQuestion): Promise<boolean> {
  const { address, port, hostname, token, answer, timeoutMs } = question;
  const socket = connect({
    host: address,
    port,
    servername: hostname,
    ALPNProtocols: [PROTOCOL, token], // why the token: src/certificates/served/probe.ts
    rejectUnauthorized: false, // what counts is the extension
  });
  socket.on('error', () => {}); // also while it is being destroyed
  try {
    await once(socket, 'secureConnect', { signal: AbortSignal.timeout(timeoutMs) });
    const certificate = socket.getPeerX509Certificate();
    // The whole extension, byte for byte: nobody else can have put it there.
    const isProven = certificate?.raw.includes(acmeIdentifier(answer)) ?? false;
    return isProven && socket.alpnProtocol === PROTOCOL;
  } catch (fault) {
    if (isTlsAnswer(fault)) return false;
    throw fault;
  } finally {
    socket.destroy();
  }
}

/** An alert, or something that is no TLS: somebody answered, and OpenSSL made an error of it. */
function isTlsAnswer(fault: unknown): boolean {
  const code = fault instanceof Error && 'code' in fault ? String(fault.code) : '';
  return code.startsWith('ERR_SSL_') || code === 'EPROTO';
}
