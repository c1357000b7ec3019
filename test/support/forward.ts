/** A loopback port that forwards to another one: unreachable until opened. */
import { connect, createServer, type Socket } from 'node:net';

/** Forwards connections to `from`; returns a function that ends it and its connections. */
export async function forward(from: number, to: number): Promise<() => Promise<void>> {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    const onward = connect(to, '127.0.0.1');
    for (const end of [socket, onward]) {
      open.add(end);
      end.on('error', () => end.destroy());
      end.on('close', () => open.delete(end));
    }
    socket.pipe(onward).pipe(socket);
  });
  await new Promise<void>((resolve) => server.listen(from, '127.0.0.1', resolve));
  return async () => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const socket of open) socket.destroy();
    await closed;
  };
}
