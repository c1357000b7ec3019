/** A relay that each request tells where it is for: Prism knows one upstream, and there are several services. */
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WRONG } from './document.ts';

/** The request header that names the port, on this machine. */
export const FOR_PORT = 'x-for-port';

export type Switch = { readonly origin: string; close(): Promise<void> };

/** Passes requests and answers on as they are, each over a connection of its own. */
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
  const { port } = server.address() as AddressInfo; // it listens on TCP
  return {
    origin: `http://127.0.0.1:${port}`,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}
