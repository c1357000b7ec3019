/** One question over TCP (RFC 7766): where the UDP answer was truncated. */
import { connect } from 'node:net';

export type TcpServer = { readonly address: string; readonly port: number };

export type TcpOptions = {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Told of all bytes as they arrive; false: no more of them. */
  readonly take: (bytes: number) => boolean;
};

/** How much is read at once, and so by how much a server can overrun what `take` allows. */
const READ_OCTETS = 4096;

/**
 * Sends an encoded question and gives the bytes of the first answer, at most 64 KiB as its length has two octets
 * (RFC 1035, 4.2.2). Undefined when there is none within `timeoutMs`, or when `signal` or `take` says to give up.
 */
export function askOverTcp(
  encoded: Buffer,
  server: TcpServer,
  { timeoutMs, signal, take }: TcpOptions,
): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    const collect = answerCollector();
    const onread = { buffer: Buffer.allocUnsafe(READ_OCTETS), callback: receive };
    const socket = connect({ host: server.address, port: server.port, noDelay: true, onread });
    const timer = setTimeout(giveUp, timeoutMs);

    function settle(answer: Buffer | undefined): void {
      clearTimeout(timer);
      signal.removeEventListener('abort', giveUp);
      socket.destroy();
      resolve(answer);
    }
    function giveUp(): void {
      settle(undefined);
    }
    /** Returns whether to go on reading. */
    function receive(length: number, buffer: Uint8Array): boolean {
      const answer = take(length) ? collect(Buffer.from(buffer.subarray(0, length))) : 'too much';
      if (answer === 'more') return true;
      settle(answer === 'too much' ? undefined : answer);
      return false;
    }

    signal.addEventListener('abort', giveUp);
    socket.on('error', giveUp);
    socket.on('close', giveUp);
    // Length and question in one write, as servers expect (RFC 7766, 8).
    const length = Buffer.allocUnsafe(2);
    length.writeUInt16BE(encoded.length);
    socket.write(Buffer.concat([length, encoded]));
    if (signal.aborted) giveUp();
  });
}

/** Joins pieces only where the answer may be whole, so that a server that sends single octets does not cost much. */
function answerCollector(): (piece: Buffer) => Buffer | 'more' {
  const pieces: Buffer[] = [];
  let received = 0;
  let end = 2;
  return (piece) => {
    pieces.push(piece);
    received += piece.length;
    if (received < end) return 'more';
    const joined = Buffer.concat(pieces);
    end = 2 + joined.readUInt16BE(0);
    return received < end ? 'more' : joined.subarray(2, end);
  };
}
