/** A raw client: sends any bytes to the edge and collects the response. */
import { once } from 'node:events';
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { EdgeFixture } from '../support/fixture.ts';

export type Raw = {
  readonly socket: Socket;
  /** Everything received so far, as Latin-1. */
  readonly received: () => string;
  readonly write: (text: string) => void;
  /** Everything received until the edge closed or reset the connection. */
  readonly closed: Promise<string>;
};

export async function openTls(edge: EdgeFixture, hostname: string): Promise<Raw> {
  const socket = connectTls({
    host: '127.0.0.1',
    port: edge.ports.httpsPort,
    servername: hostname,
    ca: edge.root ?? '',
    ALPNProtocols: ['http/1.1'],
  });
  await once(socket, 'secureConnect');
  return listenTo(socket);
}

/** A connection to the HTTP port. */
export async function openPlain(edge: EdgeFixture): Promise<Raw> {
  const socket = connectTcp({ host: '127.0.0.1', port: edge.ports.httpPort });
  await once(socket, 'connect');
  return listenTo(socket);
}

function listenTo(socket: Socket): Raw {
  let received = '';
  socket.on('data', (bytes: Buffer) => {
    received += bytes.toString('latin1');
  });
  socket.on('error', () => {}); // `close` follows
  const closed = new Promise<string>((resolve) => socket.once('close', () => resolve(received)));
  return {
    socket,
    received: () => received,
    write: (text) => void socket.write(text, 'latin1'),
    closed,
  };
}

export function head(...lines: readonly string[]): string {
  return `${lines.join('\r\n')}\r\n\r\n`;
}

/** The status codes of complete responses. */
export function statuses(text: string): readonly number[] {
  return [...text.matchAll(/(?:^|\n|(?<=>)|(?<=\0))HTTP\/1\.[01] (\d{3}) /g)].map(([, code]) =>
    Number(code),
  );
}
