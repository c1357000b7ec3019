/**
 * A look at each connection's ClientHello before TLS gets it. Node tells a server the name that is asked for and the
 * application protocols one after the other, in an order that depends on the TLS version, and by then has chosen the
 * certificate; RFC 8737 wants one that goes by both.
 */
import type { Server } from 'node:https';
import type { Socket } from 'node:net';
import { type ClientHello, readClientHello } from './client-hello.ts';

/** What becomes of a connection. It is TLS's to begin with, where nobody else takes it. */
export type Divert = (hello: ClientHello) => ((socket: Socket) => Promise<boolean>) | null;

/**
 * Puts a look before the server's own handshakes. A ClientHello that is not there after `helloMs` ends its connection;
 * what is none goes to TLS, which refuses it. Whoever is diverted has the connection when the promise gives true;
 * where it gives false TLS has it as if nothing had been. It must not reject.
 */
export function lookBeforeHandshake(server: Server, helloMs: number, divert: Divert): void {
  // Node's own listener begins the handshake (tls, event `connection`: connections may be injected by it).
  const own = server.listeners('connection');
  server.removeAllListeners('connection');
  const begin = (socket: Socket) => {
    for (const listener of own) listener.call(server, socket);
  };
  server.on('connection', (socket: Socket) => {
    const timer = setTimeout(() => socket.destroy(), helloMs);
    socket.on('error', ignore).once('close', () => clearTimeout(timer));
    const goOn = () => {
      if (socket.destroyed) return;
      clearTimeout(timer);
      begin(socket);
    };
    onHello(socket, (hello) => {
      const take = hello === null ? null : divert(hello);
      if (take === null) return goOn();
      void take(socket).then((isTaken) => (isTaken ? clearTimeout(timer) : goOn()));
    });
  });
}

/** Calls back once, null for what is no ClientHello; every byte is in the socket's buffer again by then. */
function onHello(socket: Socket, found: (hello: ClientHello | null) => void): void {
  let held: Buffer | null = null;
  let needs = 0;
  socket.on('data', function look(chunk: Buffer) {
    held = held === null ? chunk : Buffer.concat([held, chunk]);
    if (held.length < needs) return;
    const read = readClientHello(held);
    if (read.kind === 'needs') {
      needs = read.bytes;
      return;
    }
    socket.off('data', look).pause().unshift(held);
    found(read.kind === 'hello' ? read.hello : null);
  });
}

/** Before TLS has the connection, its errors end it, which is all that they can mean. */
function ignore(): void {}
