/** The customer's world on loopback: their DNS, and their project's own server. */

import { createServer, type Server } from 'node:http';
import { request } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { startDnsServer } from '../../lab/dns-server.ts';

/** The customer's zone, which holds nothing until something is published. */
export const ZONE = 'shop.test';
/** Where the targets of records are: every name below it leads to 127.0.0.1. */
export const PLATFORM_DOMAIN = 'edge.signpost.test';

/** A name server and a deploy on ports of 127.0.0.1 that were free. */
export type Laboratory = {
  readonly dnsPort: number;
  /** The URL of the project's deploy, an HTTP server that greets; without a trailing slash. */
  readonly upstream: string;
  /**
   * Replaces all records of a zone, the customer's where none is named, in the words of a zone file. The next query
   * sees them.
   */
  publish(records: readonly string[], zone?: string): Promise<void>;
  /** Resolves once both servers are closed. */
  close(): Promise<void>;
};

/** Resolves once both servers take requests. */
export async function startLaboratory(): Promise<Laboratory> {
  const dns = await startDnsServer({
    zones: { [ZONE]: [], [PLATFORM_DOMAIN]: ['* A 127.0.0.1'] },
  });
  const upstream = createServer((_request, response) => {
    response.end('Hello from the project’s deploy.\n');
  });
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
  return {
    dnsPort: dns.port,
    upstream: `http://127.0.0.1:${portOf(upstream)}`,
    publish: (records, zone = ZONE) => dns.setZone(zone, records),
    async close() {
      await new Promise((resolve) => upstream.close(resolve));
      await dns.close();
    },
  };
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port; // it listens on TCP, so it has one
}

/** What a visitor got. `status` 0 where the response had none. */
export type Visit = {
  readonly status: number;
  readonly body: string;
  /** The common name of who signed the certificate. */
  readonly issuer: string;
  /** As Node.js writes it: `Nov 20 12:00:00 2026 GMT`. */
  readonly validTo: string;
};

/**
 * Sends a GET over HTTPS to the edge on 127.0.0.1, as a browser would that has resolved the name. `rootCertificate`:
 * PEM, the only authority that is trusted. Rejects where the certificate does not hold or nobody answers; no status
 * is a fault.
 */
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
