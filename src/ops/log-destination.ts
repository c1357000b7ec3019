/**
 * Where log lines go: buffered, so that a request costs no system call, and never blocking the
 * process. sonic-boom 4.2, pino's own destination, retries a failed flush at exit forever: a
 * process whose log reader is gone could not stop.
 */
import { write, writeSync } from 'node:fs';

export type LogDestination = {
  /** Takes whole lines; drops them once nothing reads them any more. */
  write(line: string): void;
  /** Writes what is buffered before the process exits; waits for a slow reader at most 1 s. */
  flushSync(): void;
};

const CHUNK_CHARS = 16_000;
const FLUSH_MS = 1_000;
const BUSY_MS = 50;
const BUSY_RETRIES_MAX = 20;

export function openLogDestination(fd: number): LogDestination {
  const buffer = createBuffer();
  let isWriting = false;
  let isGone = false;

  /** Nothing reads any more (EPIPE), or the disk is full: the process goes on without a log. */
  function failed(error: NodeJS.ErrnoException): void {
    if (error.code !== 'EAGAIN') isGone = true;
  }

  function flush(): void {
    const bytes = isWriting || isGone ? null : buffer.take();
    if (bytes === null) return;
    isWriting = true;
    write(fd, bytes, (error, written) => {
      isWriting = false;
      buffer.putBack(bytes.subarray(error === null ? written : 0));
      if (error !== null) failed(error);
      else if (buffer.isLarge()) flush();
    });
  }

  setInterval(flush, FLUSH_MS).unref();
  return {
    write(line) {
      if (isGone) return;
      buffer.add(line);
      if (buffer.isLarge()) flush();
    },
    flushSync() {
      for (let busy = 0; busy <= BUSY_RETRIES_MAX && !isGone; ) {
        const bytes = buffer.take();
        if (bytes === null) return;
        try {
          buffer.putBack(bytes.subarray(writeSync(fd, bytes)));
        } catch (error) {
          buffer.putBack(bytes);
          failed(error as NodeJS.ErrnoException); // writeSync throws nothing else
          Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BUSY_MS);
          busy += 1;
        }
      }
    },
  };
}

/** For a reader that does not read; later lines are dropped, and one line says how many. */
const BUFFER_CHARS_MAX = 8_000_000;

function createBuffer() {
  let rest: Buffer | null = null;
  let lines: string[] = [];
  let chars = 0;
  let dropped = 0;
  return {
    isLarge: () => rest !== null || chars >= CHUNK_CHARS,
    add(line: string): void {
      if (chars >= BUFFER_CHARS_MAX) {
        dropped += 1;
        return;
      }
      lines.push(line);
      chars += line.length;
    },
    /** The caller puts back what it could not write. */
    take(): Buffer | null {
      const taken =
        rest ?? (lines.length === 0 ? null : Buffer.from(lines.join('') + loss(dropped)));
      if (rest === null) [lines, chars, dropped] = [[], 0, 0];
      rest = null;
      return taken;
    },
    putBack(bytes: Buffer): void {
      rest = bytes.length === 0 ? null : bytes;
    },
  };
}

function loss(dropped: number): string {
  if (dropped === 0) return '';
  return `${JSON.stringify({ level: 40, time: Date.now(), dropped, msg: 'log lines dropped' })}\n`;
}
