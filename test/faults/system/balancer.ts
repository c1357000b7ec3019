/**
 * A TCP load balancer: checks each process's /readyz and sends new connections to ready ones, or to
 * all if none is ready. It skips a process that refuses a connection, like nginx
 * (proxy_next_upstream error).
 */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { ask } from './ask.ts';

export type Backend = {
  readonly name: string;
  readonly port: number;
  /** The port of /readyz. */
  readonly metricsPort: number;
};

export type Balancer = { readonly port: number; close(): Promise<void> };

const ASK_EVERY_MS = 250;

/** `backends` is read each time, because processes are replaced. */
export async function startBalancer(
  backends: () => readonly Backend[],
  port = 0,
): Promise<Balancer> {
  const ready = new Set<number>();
  const open = new Set<Socket>();
  let turn = 0;

  async function askAll(): Promise<void> {
    await Promise.all(
      backends().map(async (backend) => {
        const isReady = await isReadyAt(backend.metricsPort);
        if (isReady) ready.add(backend.port);
        else ready.delete(backend.port);
      }),
    );
  }

  /** Ready ones first, round-robin. */
  function order(): readonly Backend[] {
    turn += 1;
    const all = backends();
    const turned = all.map((_, index) => all[(index + turn) % all.length]).filter((one) => one);
    const known = turned.filter((one) => one !== undefined);
    return known.toSorted((a, b) => Number(ready.has(b.port)) - Number(ready.has(a.port)));
  }

  async function lead(socket: Socket): Promise<void> {
    for (const { port: to } of order()) {
      const onward = await connected(to);
      if (onward === null) continue;
      keep(onward);
      onward.on('close', () => socket.destroy());
      socket.on('close', () => onward.destroy());
      if (socket.destroyed) onward.destroy();
      else socket.pipe(onward).pipe(socket);
      return;
    }
    socket.destroy();
  }

  function keep(socket: Socket): void {
    open.add(socket.setNoDelay(true));
    socket.on('error', () => socket.destroy());
    socket.on('close', () => open.delete(socket));
  }

  const server = createServer({ pauseOnConnect: false, allowHalfOpen: false }, (socket) => {
    keep(socket);
    void lead(socket);
  });
  await once(server.listen(port, '127.0.0.1'), 'listening');
  const timer = setInterval(() => void askAll(), ASK_EVERY_MS);
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      clearInterval(timer);
      const closed = once(server, 'close');
      server.close();
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}

export async function isReadyAt(metricsPort: number): Promise<boolean> {
  const answer = await ask('GET', `http://127.0.0.1:${metricsPort}/readyz`, { timeoutMs: 5_000 });
  return answer.status === 200;
}

function connected(port: number): Promise<Socket | null> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(socket));
    socket.once('error', () => resolve(null));
  });
}
