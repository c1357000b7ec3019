/** One question over TCP (RFC 7766): where the UDP answer was truncated. */
import { connect } from 'node:net';

export type TcpServer = { readonly address: string; readonly port: number };

/**
 * Sends an encoded question and gives the bytes of the first answer, at most 64 KiB as its length has two octets
 * (RFC 1035, 4.2.2). Undefined when there is none within `timeoutMs`, or when `signal` says to give up.
 */
export function askOverTcp(
  encoded: Buffer,
  server: TcpServer,
  { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal: AbortSignal },
): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host: server.address, port: server.port, noDelay: true });
    const timer = setTimeout(giveUp, timeoutMs);
    let received = Buffer.alloc(0);

    function settle(answer: Buffer | undefined): void {
      clearTimeout(timer);
      signal.removeEventListener('abort', giveUp);
      socket.destroy();
      resolve(answer);
    }
    function giveUp(): void {
      settle(undefined);
    }

    signal.addEventListener('abort', giveUp);
    socket.on('error', giveUp);
    socket.on('close', giveUp);
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      const answer = firstAnswer(received);
      if (answer !== undefined) settle(answer);
    });
    // Length and question in one write, as servers expect (RFC 7766, 8).
    const length = Buffer.allocUnsafe(2);
    length.writeUInt16BE(encoded.length);
    socket.write(Buffer.concat([length, encoded]));
    if (signal.aborted) giveUp();
  });
}

function firstAnswer(received: Buffer): Buffer | undefined {
  if (received.length < 2) return undefined;
  const end = 2 + received.readUInt16BE(0);
  return received.length < end ? undefined : received.subarray(2, end);
}
