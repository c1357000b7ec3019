/**
 * A few UDP sockets per address family, each on a random port: a forged answer must guess port and
 * ID (RFC 5452, 9.2). Sockets are replaced regularly.
 */
import { createSocket, type Socket } from 'node:dgram';

export type Family = 4 | 6;

/** One pending query per slot, by the lower bits of its ID. A Map needs twice the GC time. */
export type UdpSocket<Waiting> = {
  readonly udp: Socket;
  readonly slots: (Waiting | undefined)[];
  /** Number of used slots. */
  waiting: number;
  /** Queries sent; Infinity once the socket has failed. */
  uses: number;
  /** On the clock of performance.now(). */
  readonly madeAt: number;
};

export type Source = { readonly address: string; readonly port: number };

export type UdpSocketsOptions<Waiting> = {
  readonly socketsPerFamily: number;
  /** At most SLOTS / 2, so that a free slot is found quickly. */
  readonly usesPerSocket: number;
  /** The age at which a socket is replaced on its next use. No timer runs. */
  readonly socketMs: number;
  readonly random16: () => number;
  /** For every datagram from any source. */
  readonly onMessage: (socket: UdpSocket<Waiting>, bytes: Buffer, source: Source) => void;
  /** The socket is closed; its pending queries get no answer. */
  readonly onLost: (socket: UdpSocket<Waiting>) => void;
};

export type UdpSockets<Waiting> = {
  /** Creates one on demand; undefined if the host cannot. Counts one use. */
  readonly pick: (family: Family) => UdpSocket<Waiting> | undefined;
  /** Includes those being replaced. */
  readonly all: () => Iterable<UdpSocket<Waiting>>;
  /** Closes replaced sockets without pending queries. */
  readonly reap: () => void;
  /** At once, without calling `onLost`. */
  readonly close: () => void;
};

/** A power of two, so that the lower bits of an ID select the slot. */
const SLOTS = 4096;

/** For a burst of answers; the kernel can grant less. */
const RECEIVE_BUFFER_BYTES = 1 << 20;

/** Opens no socket before the first query. Each query's socket is random too. */
export function createUdpSockets<Waiting>(
  options: UdpSocketsOptions<Waiting>,
): UdpSockets<Waiting> {
  const current: Record<Family, (UdpSocket<Waiting> | undefined)[]> = { 4: [], 6: [] };
  const open = new Set<UdpSocket<Waiting>>();
  const retired = new Set<UdpSocket<Waiting>>();
  const usesPerSocket = Math.min(options.usesPerSocket, SLOTS / 2);

  function drop(socket: UdpSocket<Waiting>): void {
    retired.delete(socket);
    if (open.delete(socket)) socket.udp.close();
  }

  function make(family: Family): UdpSocket<Waiting> {
    const slots = new Array<Waiting | undefined>(SLOTS).fill(undefined);
    const madeAt = performance.now();
    const socket = { udp: newSocket(family), slots, waiting: 0, uses: 0, madeAt };
    socket.udp.on('message', (bytes, source) => options.onMessage(socket, bytes, source));
    // For example, no file descriptors left, or a host without IPv6.
    socket.udp.on('error', () => {
      socket.uses = Number.POSITIVE_INFINITY;
      drop(socket);
      options.onLost(socket);
    });
    open.add(socket);
    socket.udp.bind({ port: 0, exclusive: true });
    return socket;
  }

  function isWorn({ uses, madeAt }: UdpSocket<Waiting>): boolean {
    return uses >= usesPerSocket || performance.now() - madeAt >= options.socketMs;
  }

  return {
    pick(family) {
      const slot = options.random16() % options.socketsPerFamily;
      let socket = current[family][slot];
      if (socket === undefined || isWorn(socket)) {
        // Pending queries on the old socket still get their answers; then `reap` closes it.
        if (socket !== undefined && open.has(socket)) retired.add(socket);
        socket = make(family);
        current[family][slot] = socket;
      }
      socket.uses++;
      return open.has(socket) ? socket : undefined;
    },
    all: () => open,
    reap: () => {
      for (const socket of retired) if (socket.waiting === 0) drop(socket);
    },
    close: () => {
      for (const socket of open) drop(socket);
    },
  };
}

/** Ends soon, because at most half of the slots are used. */
export function freeId<Waiting>(socket: UdpSocket<Waiting>, random16: () => number): number {
  let id = random16();
  while (socket.slots[id % SLOTS] !== undefined) id = random16();
  return id;
}

export function enter<Waiting>(socket: UdpSocket<Waiting>, waiting: Waiting, id: number): void {
  socket.slots[id % SLOTS] = waiting;
  socket.waiting++;
}

/** The query can have a different ID. */
export function find<Waiting>(socket: UdpSocket<Waiting>, id: number): Waiting | undefined {
  return socket.slots[id % SLOTS];
}

/** Unless another query has taken the slot. */
export function leave<Waiting>(socket: UdpSocket<Waiting>, waiting: Waiting, id: number): void {
  if (socket.slots[id % SLOTS] !== waiting) return;
  socket.slots[id % SLOTS] = undefined;
  socket.waiting--;
}

function newSocket(family: Family): Socket {
  const udp = createSocket({
    type: family === 4 ? 'udp4' : 'udp6',
    ipv6Only: family === 6,
    recvBufferSize: RECEIVE_BUFFER_BYTES,
    // All addresses are literal, so there is nothing to look up.
    lookup: (address, _options, done) => done(null, address, family),
  });
  // Pending queries keep the process alive (wire.ts), not the socket.
  udp.unref();
  return udp;
}
