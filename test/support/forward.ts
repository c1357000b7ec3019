/** A port of loopback that leads to another one: what cannot be reached until it is opened. */
import { connect, createServer, type Socket } from 'node:net';

/** Passes on what comes to `from`; gives what ends it, together with its connections. */
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
