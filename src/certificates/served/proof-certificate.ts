/** Certificates for tls-alpn-01 challenges and for our probes of them (RFC 8737, 3). */

import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:tls';
import { DAY } from '../../core/time.ts';
import { signProof } from '../authorities/sign.ts';
import { generatePrivateKey, privateKeyToPem } from '../vault/keys.ts';

export type EdgeCertificate = {
  /** PEM, the leaf first. */
  readonly chain: string;
  /** PKCS#8 PEM, opened. The user of a Buffer zeroes it. */
  readonly key: string | Buffer;
};

/** id-pe-acmeIdentifier (1.3.6.1.5.5.7.1.31), critical, and the head of an OCTET STRING. */
const IDENTIFIER_HEAD = Buffer.from('303106082b0601050507011f0101ff04220420', 'hex');

/** In DER (RFC 8737, 3). */
function acmeIdentifier(keyAuthorization: string): Buffer {
  const digest = createHash('sha256').update(keyAuthorization).digest();
  return Buffer.concat([IDENTIFIER_HEAD, digest]);
}

/** All certificates share one key, created at first use: only the digest counts. */
export function createProofCertificates(
  findProof: (hostname: string, probeToken: string | null) => Promise<string | null>,
  now: () => Date,
): (hostname: string, probeToken: string | null) => Promise<EdgeCertificate | null> {
  let known: ReturnType<typeof generatePrivateKey> | undefined;
  return async (hostname, probeToken) => {
    const proof = await findProof(hostname, probeToken);
    if (proof === null) return null;
    known ??= generatePrivateKey();
    const at = now().getTime();
    // Validators don't check the dates precisely; clocks differ.
    const validity = { notBefore: new Date(at - DAY), notAfter: new Date(at + DAY) };
    const chain = await signProof({ hostname, key: known, ...validity }, acmeIdentifier(proof));
    return { chain, key: privateKeyToPem(known) };
  };
}

const PROTOCOL = 'acme-tls/1';

export type TlsQuestion = {
  readonly address: string;
  readonly port: number;
  readonly hostname: string;
  /** From `Probes.newToken`; sent as the second protocol. */
  readonly token: string;
  /** The expected proof: `Probes.answerTo` of the token. */
  readonly answer: string;
  /** For connection and handshake together. */
  readonly timeoutMs: number;
};

/** False for another certificate. Rejects if the connection fails or times out. */
export async function showsProof(question: TlsQuestion): Promise<boolean> {
  const { address, port, hostname, token, answer, timeoutMs } = question;
  const socket = connect({
    host: address,
    port,
    servername: hostname,
    ALPNProtocols: [PROTOCOL, token], // see src/certificates/served/probe.ts
    rejectUnauthorized: false, // only the extension counts
  });
  socket.on('error', () => {}); // also needed while it is destroyed
  try {
    await once(socket, 'secureConnect', { signal: AbortSignal.timeout(timeoutMs) });
    const certificate = socket.getPeerX509Certificate();
    // The whole extension, byte for byte, which only our edge can produce.
    const isProven = certificate?.raw.includes(acmeIdentifier(answer)) ?? false;
    return isProven && socket.alpnProtocol === PROTOCOL;
  } catch (fault) {
    if (isTlsAnswer(fault)) return false;
    throw fault;
  } finally {
    socket.destroy();
  }
}

/** A TLS alert, or a response that is not TLS: another server answered. */
function isTlsAnswer(fault: unknown): boolean {
  const code = fault instanceof Error && 'code' in fault ? String(fault.code) : '';
  return code.startsWith('ERR_SSL_') || code === 'EPROTO';
}
