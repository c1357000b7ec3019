/**
 * The UDP sockets questions leave from: a few for each address family, each on a port drawn by the system, so that a
 * forged answer must guess port and id (RFC 5452, 9.2). A socket is replaced after a number of uses, and after a while.
 */
import { createSocket, type Socket } from 'node:dgram';

/** The version of IP. */
export type Family = 4 | 6;

/**
 * A socket and what waits for an answer on it: at most one in each slot, found by the lower bits of its id. A Map did
 * the same for twice the work of the garbage collector, because the tables it outgrows keep what was in them.
 */
export type UdpSocket<Waiting> = {
  readonly udp: Socket;
  readonly slots: (Waiting | undefined)[];
  /** How many slots are taken. */
  waiting: number;
  /** How many questions have left from here; Infinity once the socket has failed. */
  uses: number;
  /** On the clock of performance.now(). */
  readonly madeAt: number;
};

/** Where a datagram came from. */
export type Source = { readonly address: string; readonly port: number };

/** How many sockets there are, how long each is used, and who is called about them. */
export type UdpSocketsOptions<Waiting> = {
  readonly socketsPerFamily: number;
  /** At most SLOTS / 2, so that a free slot is soon drawn. */
  readonly usesPerSocket: number;
  /** The age in ms at which a socket is replaced. No timer runs for it: an idle one is replaced when it is next needed. */
  readonly socketMs: number;
  /** A number from 0 to 65535 that nobody can predict. */
  readonly random16: () => number;
  /** Called for every datagram, whoever sent it. */
  readonly onMessage: (socket: UdpSocket<Waiting>, bytes: Buffer, source: Source) => void;
  /** The socket failed and is closed; whatever waited on it gets no answer. */
  readonly onLost: (socket: UdpSocket<Waiting>) => void;
};

/** The sockets of one wire, for IPv4 and IPv6. */
export type UdpSockets<Waiting> = {
  /**
   * Returns a socket to ask from, made when it is first needed; undefined where the host cannot make one. Counts one
   * use.
   */
  readonly pick: (family: Family) => UdpSocket<Waiting> | undefined;
  /** Returns every socket that is open, also those that are being replaced. */
  readonly all: () => Iterable<UdpSocket<Waiting>>;
  /** Closes the sockets that were replaced and that no question waits on. */
  readonly reap: () => void;
  /** Closes all of them at once, without calling `onLost`. */
  readonly close: () => void;
};

/** A power of two, so that the lower bits of an id find the slot. */
const SLOTS = 4096;

/** Room for a burst of answers in the kernel; what it does not grant, it caps. */
const RECEIVE_BUFFER_BYTES = 1 << 20;

/** Returns sockets of which none is open before the first question. Which one a question leaves from is drawn as well. */
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
    // For example no more file descriptors, or a host without IPv6.
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
        // Whoever still waits on the old one gets the answer; `reap` closes it after that.
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

/** Draws an id whose slot is free. Ends soon because at most half of the slots are ever used. */
export function freeId<Waiting>(socket: UdpSocket<Waiting>, random16: () => number): number {
  let id = random16();
  while (socket.slots[id % SLOTS] !== undefined) id = random16();
  return id;
}

/** Begins to wait for an id that `freeId` has drawn. */
export function enter<Waiting>(socket: UdpSocket<Waiting>, waiting: Waiting, id: number): void {
  socket.slots[id % SLOTS] = waiting;
  socket.waiting++;
}

/** Returns what waits in the slot of this id, though perhaps for another id; undefined where the slot is free. */
export function find<Waiting>(socket: UdpSocket<Waiting>, id: number): Waiting | undefined {
  return socket.slots[id % SLOTS];
}

/** Frees the slot of this id. Does nothing where another question has the slot by now. */
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
    // Every address here is literal: nothing to look up.
    lookup: (address, _options, done) => done(null, address, family),
  });
  // What waits keeps the process alive (wire.ts), not the socket.
  udp.unref();
  return udp;
}
