/** Closes connections that hardly read. A silence timeout is not enough: one byte restarts it. */
import type { Socket } from 'node:net';
import type { EdgeCounters } from '../../ops/metrics/traffic.ts';
import type { EdgeLimits } from '../limits.ts';

/** Checks per measuring interval. */
const ROUNDS = 12;

/** A connection with pending data at the last checks. */
type Waiting = {
  readonly rounds: number;
  /** Bytes that the visitor had read at the first of these checks. */
  readonly takenThen: number;
};

/**
 * Destroys connections with pending data that read less than `readBytesMin` in `readMs`. Bytes
 * count as read once the kernel takes them, which can be megabytes ahead of the visitor and grows
 * in steps.
 */
export function createReaderWatch(
  { readMs, readBytesMin, heldBytesMax, heldCheckMs }: ReaderLimits,
  count: Pick<EdgeCounters, 'refused'>,
): (socket: Socket) => void {
  const connections = new Map<Socket, Waiting | null>();
  let isRoundDue = false;
  let isHeldCheckDue = false;

  function scheduleRound(): void {
    if (isRoundDue || connections.size === 0) return;
    isRoundDue = true;
    setTimeout(round, readMs / ROUNDS).unref();
  }

  function round(): void {
    isRoundDue = false;
    for (const [socket, before] of connections) {
      const found = progressOf(before, takenBy(socket), readBytesMin);
      if (found === 'too_slow') socket.destroy();
      else connections.set(socket, found);
    }
    scheduleRound();
  }

  function scheduleHeldCheck(): void {
    if (isHeldCheckDue || connections.size === 0) return;
    isHeldCheckDue = true;
    setTimeout(checkHeld, heldCheckMs).unref();
  }

  function checkHeld(): void {
    isHeldCheckDue = false;
    for (const socket of heldTooMuch([...connections.keys()], heldBytesMax)) {
      count.refused('held_bytes');
      socket.destroy();
    }
    scheduleHeldCheck();
  }

  return (socket) => {
    if (socket.destroyed) return; // its `close` event may have fired already
    scheduleHeldCheck();
    connections.set(socket, null);
    socket.once('close', () => connections.delete(socket));
    scheduleRound();
  };
}

type ReaderLimits = Pick<EdgeLimits, 'readMs' | 'readBytesMin' | 'heldBytesMax' | 'heldCheckMs'>;

/** The fewest connections to close so that at most `max` bytes wait. */
export function heldTooMuch<T extends { readonly writableLength: number }>(
  connections: readonly T[],
  max: number,
): readonly T[] {
  let over = connections.reduce((sum, { writableLength }) => sum + writableLength, 0) - max;
  if (over <= 0) return [];
  const byHeld = connections.toSorted((one, other) => other.writableLength - one.writableLength);
  const ended: T[] = [];
  for (const connection of byHeld) {
    if (over <= 0) break;
    over -= connection.writableLength;
    ended.push(connection);
  }
  return ended;
}

/** Null if nothing is pending. */
function takenBy({ bytesWritten, writableLength }: Socket): number | null {
  // Node.js counts pending bytes as written.
  return writableLength === 0 ? null : bytesWritten - writableLength;
}

export function progressOf(
  before: Waiting | null,
  taken: number | null,
  bytesMin: number,
): Waiting | 'too_slow' | null {
  if (taken === null) return null;
  if (before === null) return { rounds: 0, takenThen: taken };
  const rounds = before.rounds + 1;
  if (rounds < ROUNDS) return { ...before, rounds };
  return taken - before.takenThen < bytesMin ? 'too_slow' : { rounds: 0, takenThen: taken };
}
