/** A visitor: one HTTPS request to a domain through the edge, its certificate verified. */
import { request } from 'node:https';
import type { TLSSocket } from 'node:tls';

export type Visit = {
  readonly status: number;
  readonly body: string;
  /** The common name of who signed the certificate. */
  readonly issuer: string;
  readonly validTo: string;
};

/** Asks as a browser would, but for the DNS: the edge's port is given. Rejects where the certificate does not hold. */
export function visit(
  hostname: string,
  httpsPort: number,
  rootCertificate: string,
): Promise<Visit> {
  return new Promise((resolve, reject) => {
    const asked = request(
      {
        host: '127.0.0.1',
        port: httpsPort,
        servername: hostname,
        headers: { host: hostname },
        ca: rootCertificate,
        agent: false,
      },
      (response) => {
        const certificate = (response.socket as TLSSocket).getPeerCertificate(); // node:https speaks TLS
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            body: Buffer.concat(chunks).toString(),
            issuer: [certificate.issuer.CN].flat().join(', '),
            validTo: certificate.valid_to,
          }),
        );
      },
    );
    asked.on('error', reject);
    asked.end();
  });
}
