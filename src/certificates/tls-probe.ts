/** Asks an address for the answer to a tls-alpn-01 probe, in a handshake such as an authority's (RFC 8737, 3). */
import { once } from 'node:events';
import { connect } from 'node:tls';
import { acmeIdentifier } from './proof-certificate.ts';

const PROTOCOL = 'acme-tls/1';

export type TlsQuestion = {
  readonly address: string;
  readonly port: number;
  readonly hostname: string;
  readonly token: string;
  /** What an edge of ours would prove. */
  readonly answer: string;
  readonly timeoutMs: number;
};

/**
 * Whether the certificate of the answer is shown there; false where somebody refuses the handshake or shows another one.
 * Rejects where there is no connection, it is cut off, or nothing comes in time.
 */
export async function showsProof(question: TlsQuestion): Promise<boolean> {
  const { address, port, hostname, token, answer, timeoutMs } = question;
  const socket = connect({
    host: address,
    port,
    servername: hostname,
    ALPNProtocols: [PROTOCOL, token], // why the token: src/certificates/probe.ts
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
