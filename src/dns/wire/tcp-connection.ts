/**
 * One TCP connection to a DNS server. Several questions share it: they are sent at once, and answered in any order
 * (RFC 7766, 6.2.1).
 */
import { connect, type Socket } from 'node:net';
import { type Exchange, isAnswerInAnyCase } from './exchange.ts';

/** A literal address, IPv4 or IPv6, and its port. */
export type TcpServer = { readonly address: string; readonly port: number };

/**
 * How a question on a connection ends: with its answer, without the length before it, or without one. `silent`: its time
 * was over. `closed`: the connection failed or was closed, or this process no longer wants it. `malformed`: what came
 * answers no question that was asked. `too_much`: `take` allowed no more. `unpaid`: `pay` did not let it be sent.
 */
export type TcpEnd = Buffer | 'silent' | 'closed' | 'malformed' | 'too_much' | 'unpaid';

/** A connection, from before it is established until after it is closed. */
export type TcpConnection = {
  /** Sends a question, and waits for its answer. Never rejects. */
  readonly ask: (exchange: Exchange, wait: TcpWait) => Promise<TcpEnd>;
  /** Whether it takes questions. */
  readonly isOpen: () => boolean;
  /** Whether any answer has come on it. */
  readonly hasAnswered: () => boolean;
  readonly close: () => void;
};

/** How long one question waits for connection and answer; `signal` ends that, too. */
export type TcpWait = {
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  /** Called when it is about to be sent: where nobody takes the connection, no message is. */
  readonly pay: () => boolean;
};

/** How far a connection may go. */
export type TcpOptions = {
  /** Called with the number of bytes of each piece before it is kept. False ends the connection. */
  readonly take: (bytes: number) => boolean;
  /** Closes it. */
  readonly signal: AbortSignal;
};

/** How much is read at once, and so by how much a server can overrun what `take` allows. */
const READ_OCTETS = 4096;

/**
 * For so long a connection is kept for the next question: a check asks on at once, or asks another server in between.
 * Our choice, as RFC 7766, 6.2.3 lets us.
 */
const IDLE_MS = 1_000;

/** Begins to connect. Keeps the process alive only while a question waits. */
export function openTcp(server: TcpServer, { take, signal }: TcpOptions): TcpConnection {
  const questions = createQuestions();
  const messagesIn = messageReader();
  const queued: (() => void)[] = [];
  let isOpen = true;
  const socket = connect({
    host: server.address,
    port: server.port,
    noDelay: true,
    onread: { buffer: Buffer.allocUnsafe(READ_OCTETS), callback: read },
  });
  const idle = whenIdle(socket, close);

  function finish(how: Exclude<TcpEnd, Buffer>): void {
    isOpen = false;
    signal.removeEventListener('abort', close);
    socket.destroy();
    questions.endAll(how);
    idle.end();
  }
  function close(): void {
    finish('closed');
  }
  /** Returns whether to go on reading. */
  function read(length: number, buffer: Uint8Array): boolean {
    if (!take(length)) finish('too_much');
    for (const message of isOpen ? messagesIn(Buffer.from(buffer.subarray(0, length))) : []) {
      // Nobody but the server can have sent it.
      if (!questions.deliver(message)) finish('malformed');
    }
    return isOpen;
  }

  async function ask(exchange: Exchange, wait: TcpWait): Promise<TcpEnd> {
    if (!isOpen) return 'closed';
    idle.end();
    const answer = questions.wait(exchange, wait);
    const send = () => {
      if (!questions.isWaiting(exchange)) return;
      if (wait.pay()) socket.write(withLength(exchange.encoded));
      else questions.end(exchange, 'unpaid');
    };
    if (socket.connecting) queued.push(send);
    else send();
    const end = await answer;
    if (isOpen && questions.areDone()) idle.begin();
    return end;
  }

  signal.addEventListener('abort', close);
  socket.on('connect', () => {
    for (const send of queued) send();
  });
  socket.on('error', close);
  socket.on('end', close);
  socket.on('close', close);
  if (signal.aborted) close();
  return { ask, isOpen: () => isOpen, hasAnswered: questions.haveAnswer, close };
}

/** Calls `close` once the connection has been idle for long enough; until then it does not keep the process alive. */
function whenIdle(socket: Socket, close: () => void) {
  let timer: NodeJS.Timeout | undefined;
  return {
    begin(): void {
      socket.unref();
      timer = setTimeout(close, IDLE_MS).unref();
    },
    end(): void {
      clearTimeout(timer);
      socket.ref();
    },
  };
}

/** The questions of one connection, and who waits for their answers. */
function createQuestions() {
  const waiting = new Map<Exchange, (how: TcpEnd) => void>();
  /** Those whose time was over: their answers may still come. */
  const late: Exchange[] = [];
  let haveAnswer = false;

  function wait(exchange: Exchange, { timeoutMs, signal }: TcpWait): Promise<TcpEnd> {
    return new Promise((resolve) => {
      const giveUp = () => {
        late.push(exchange);
        end('silent');
      };
      const timer = setTimeout(giveUp, timeoutMs);
      const end = (how: TcpEnd) => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', giveUp);
        waiting.delete(exchange);
        resolve(how);
      };
      waiting.set(exchange, end);
      signal?.addEventListener('abort', giveUp);
    });
  }

  /** Returns whether it answers any of them. */
  function deliver(message: Buffer): boolean {
    for (const [exchange, end] of waiting) {
      if (!isAnswerInAnyCase(message, exchange)) continue;
      haveAnswer = true;
      end(message);
      return true;
    }
    return late.some((exchange) => isAnswerInAnyCase(message, exchange));
  }

  return {
    wait,
    isWaiting: (exchange: Exchange) => waiting.has(exchange),
    end: (exchange: Exchange, how: TcpEnd) => waiting.get(exchange)?.(how),
    deliver,
    endAll: (how: TcpEnd) => {
      for (const end of [...waiting.values()]) end(how);
    },
    areDone: () => waiting.size === 0,
    haveAnswer: () => haveAnswer,
  };
}

/** Length and question in one write, as servers expect (RFC 7766, 8). */
function withLength(encoded: Buffer): Buffer {
  const length = Buffer.allocUnsafe(2);
  length.writeUInt16BE(encoded.length);
  return Buffer.concat([length, encoded]);
}

/**
 * Returns the messages that each piece completes, without their lengths. Joins pieces only where a message may be whole,
 * so that a server that sends single octets does not cost much.
 */
function messageReader(): (piece: Buffer) => Buffer[] {
  let pieces: Buffer[] = [];
  let received = 0;
  let end = 2;
  return (piece) => {
    pieces.push(piece);
    received += piece.length;
    const messages: Buffer[] = [];
    while (received >= end) {
      const joined = Buffer.concat(pieces);
      end = 2 + joined.readUInt16BE(0);
      pieces = [joined];
      if (received < end) break;
      messages.push(joined.subarray(2, end));
      pieces = [joined.subarray(end)];
      received -= end;
      end = 2;
    }
    return messages;
  };
}
