/** A loopback proxy in front of a server: cuts, delays or redirects connections. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { Transform } from 'node:stream';

export type ServerProxy = {
  readonly port: number;
  /** Ends every connection and refuses new ones, until `restore`. */
  cut(): void;
  restore(): void;
  /** Delays everything that a client sends. */
  delay(ms: number): void;
  /** Redirects new connections and ends existing ones. */
  leadTo(port: number): void;
  close(): Promise<void>;
};

export async function startProxy(to: number): Promise<ServerProxy> {
  const open = new Set<Socket>();
  let [target, isCut, delayMs] = [to, false, 0];
  const endAll = () => {
    for (const socket of open) socket.destroy();
  };
  const server = createServer((socket) => {
    if (isCut) return void socket.destroy();
    const onward = connect(target, '127.0.0.1');
    for (const end of [socket, onward]) {
      end.setNoDelay(true);
      open.add(end);
      end.on('error', () => end.destroy());
      end.on('close', () => {
        open.delete(end);
        socket.destroy();
        onward.destroy();
      });
    }
    socket.pipe(late(() => delayMs)).pipe(onward);
    onward.pipe(socket);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    cut() {
      isCut = true;
      endAll();
    },
    restore() {
      isCut = false;
    },
    delay(ms) {
      delayMs = ms;
    },
    leadTo(port) {
      target = port;
      endAll();
    },
    async close() {
      const closed = once(server, 'close');
      server.close();
      endAll();
      await closed;
    },
  };
}

/** Forwards chunks in order with the delay at their arrival. */
function late(delayMs: () => number): Transform {
  return new Transform({
    transform(chunk, _encoding, done) {
      const ms = delayMs();
      if (ms === 0) done(null, chunk);
      else setTimeout(() => done(null, chunk), ms);
    },
  });
}
