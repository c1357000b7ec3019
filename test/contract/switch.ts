/** A relay to several services by request header, because Prism has a single upstream. */
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WRONG } from './document.ts';

/** The request header with the local port. */
export const FOR_PORT = 'x-for-port';

export type Switch = { readonly origin: string; close(): Promise<void> };

/** Forwards requests and responses unchanged, each on its own connection. */
export async function startSwitch(): Promise<Switch> {
  const server = createServer((req, res) => {
    const { method, url = '/', headers } = req;
    const path = url.startsWith(`${WRONG}/`) ? url.slice(WRONG.length) : url;
    const port = Number(headers[FOR_PORT]);
    const onward = request({ host: '127.0.0.1', port, method, path, headers, agent: false });
    onward.on('response', (answer) => {
      res.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
      answer.pipe(res);
    });
    onward.on('error', (fault) => {
      if (!res.headersSent) res.writeHead(502).end(fault.message);
    });
    req.pipe(onward);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
