/** A customer's webhook receiver that records requests and responds as configured. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { Webhook } from 'standardwebhooks';

export type Received = {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly path: string;
};

export type Respond = (request: IncomingMessage, response: ServerResponse) => void;

export type Receiver = {
  readonly url: string;
  readonly port: number;
  /** In order of arrival. */
  readonly received: Received[];
  /** The response to the next requests. */
  respond: Respond;
  close(): Promise<void>;
};

export type ReceiverOptions = {
  readonly host?: string;
  readonly port?: number;
  readonly tls?: { readonly key: string; readonly cert: string };
};

/** Responds with this status and these headers only. */
export const status =
  (code: number, headers: Readonly<Record<string, string>> = {}): Respond =>
  (_, response) =>
    void response.writeHead(code, headers).end();

/** Reads everything and never responds. */
export const hang: Respond = () => {};

export async function startReceiver(options: ReceiverOptions = {}): Promise<Receiver> {
  const { host = '127.0.0.1', port = 0, tls } = options;
  const received: Received[] = [];
  const listener = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer); // no encoding is set
    const body = Buffer.concat(chunks).toString('utf8');
    const headers = request.headers as Record<string, string>; // none occurs twice here
    received.push({ headers, body, path: request.url ?? '' });
    receiver.respond(request, response);
  };
  const server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(port, host, resolve));
  const bound = (server.address() as AddressInfo).port;
  const receiver: Receiver = {
    url: `${tls === undefined ? 'http' : 'https'}://${host}:${bound}/hook`,
    port: bound,
    received,
    respond: status(204),
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return receiver;
}

/** Verifies a message with the library's receiver; throws if it is invalid. */
export function verified(secret: string, { body, headers }: Received): Message {
  return new Webhook(secret).verify(body, headers) as Message; // our documented shape
}

export type Message = {
  readonly type: string;
  readonly timestamp: string;
  readonly data: {
    readonly id: number;
    readonly type: string;
    readonly hostname: string;
    readonly at: string;
    readonly projectId: string;
    readonly data: unknown;
  };
};
