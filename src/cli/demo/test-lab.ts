/** The demo's test lab on loopback: the customer's name server and the project's own server. */

import { createServer, type Server } from 'node:http';
import { request } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { startDnsServer } from '../../lab/dns-server.ts';

/** The customer's zone, empty until records are published. */
export const ZONE = 'shop.test';
/** Parent of the record targets. Every name below it resolves to 127.0.0.1. */
export const PLATFORM_DOMAIN = 'edge.signpost.test';

/** On free ports of 127.0.0.1. */
export type TestLab = {
  readonly dnsPort: number;
  /** The project's deploy, without a trailing slash. */
  readonly upstream: string;
  /** Replaces all records of a zone, in zone file syntax. The next query sees them. */
  publish(records: readonly string[], zone?: string): Promise<void>;
  close(): Promise<void>;
};

export async function startTestLab(): Promise<TestLab> {
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
  return (server.address() as AddressInfo).port; // a TCP server has an address object
}

/** `status` is 0 if the response has none. */
export type DemoVisit = {
  readonly status: number;
  readonly body: string;
  /** Common name of the certificate's issuer. */
  readonly issuer: string;
  /** In Node.js format: `Nov 20 12:00:00 2026 GMT`. */
  readonly validTo: string;
};

/** Visits 127.0.0.1 as `hostname`. Rejects if the certificate is invalid or the edge is silent. */
export function visit(
  hostname: string,
  httpsPort: number,
  rootCertificate: string,
): Promise<DemoVisit> {
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
