/** The customer's world on loopback: their DNS, and their project's own server. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startDnsServer } from '../../lab/dns-server.ts';

export const ZONE = 'shop.test';
export const PLATFORM_DOMAIN = 'edge.signpost.test';

export type Laboratory = {
  readonly dnsPort: number;
  /** The project's deploy: an HTTP server that greets. */
  readonly upstream: string;
  /** Replaces the records of a zone, the customer's where none is named, in the words of a zone file. */
  publish(records: readonly string[], zone?: string): Promise<void>;
  close(): Promise<void>;
};

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
