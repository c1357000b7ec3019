/**
 * Ends the connections of those who have an answer waiting and hardly read it. A timeout for silence does not: one byte now
 * and then, and it begins anew. Where more waits for all of them than may, those end first that hold the most.
 */
import type { Socket } from 'node:net';
import type { EdgeCounters } from '../../ops/metrics/traffic.ts';
import type { EdgeLimits } from '../deps.ts';

/** How often a connection is checked within the time that it is judged by. */
const ROUNDS = 12;

/** A connection for which something was waiting at the last check, and at those before it. */
type Waiting = {
  readonly rounds: number;
  /** Bytes that the visitor had taken at the first of them. */
  readonly takenThen: number;
};

/**
 * Watches connections until they close. One at which something waits for the whole of `readMs`, and that takes less than
 * `readBytesMin` of it meanwhile, is destroyed. What counts as taken is what the kernel took, which is up to some
 * megabytes ahead of the visitor and moves in leaps.
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
    if (socket.destroyed) return; // its `close` may be over
    scheduleHeldCheck();
    connections.set(socket, null);
    socket.once('close', () => connections.delete(socket));
    scheduleRound();
  };
}

type ReaderLimits = Pick<EdgeLimits, 'readMs' | 'readBytesMin' | 'heldBytesMax' | 'heldCheckMs'>;

/** Those to end so that no more than `max` bytes wait for the others: the fewest, which hold the most. */
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

/** Bytes, where more are waiting; null where none are. */
function takenBy({ bytesWritten, writableLength }: Socket): number | null {
  // Node counts what waits among the bytes written.
  return writableLength === 0 ? null : bytesWritten - writableLength;
}

/** What is known of a connection after one more check of it; `taken` as takenBy says. */
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
