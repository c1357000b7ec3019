/** One TCP connection to a DNS server: several queries, answered in any order (RFC 7766, 6.2.1). */
import { connect, type Socket } from 'node:net';
import { isAnswerInAnyCase, type QueryExchange } from './exchange.ts';

export type TcpServer = { readonly address: string; readonly port: number };

/**
 * The answer without its length prefix (RFC 1035, 4.2.2), or: `silent`: the timeout.
 * `closed`: the connection failed or was closed. `malformed`: not an answer to any of the queries.
 * `too_much`: `take` refused further bytes. `unpaid`: `pay` refused to send.
 */
export type TcpEnd = Buffer | 'silent' | 'closed' | 'malformed' | 'too_much' | 'unpaid';

export type TcpConnection = {
  /** Never rejects. */
  readonly ask: (exchange: QueryExchange, wait: TcpWait) => Promise<TcpEnd>;
  readonly isOpen: () => boolean;
  readonly hasAnswered: () => boolean;
  readonly close: () => void;
};

type TcpWait = {
  /** For connection and answer. */
  readonly timeoutMs: number;
  /** Called before it is sent, once connected. */
  readonly pay: () => boolean;
};

type TcpOptions = {
  /** Gets the size of each chunk before it is kept. False closes the connection. */
  readonly take: (bytes: number) => boolean;
  readonly signal: AbortSignal;
};

/** A server can exceed what `take` allows by one chunk at most. */
const READ_OCTETS = 4096;

/** How long a connection waits for the check's next query (RFC 7766, 6.2.3). */
const IDLE_MS = 1_000;

/** Connects at once. Keeps the process alive only while a query is pending. */
export function openTcp(server: TcpServer, { take, signal }: TcpOptions): TcpConnection {
  const queries = createQueries();
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
    queries.endAll(how);
    idle.end();
  }
  function close(): void {
    finish('closed');
  }
  /** Returns whether to continue reading. */
  function read(length: number, buffer: Uint8Array): boolean {
    if (!take(length)) finish('too_much');
    for (const message of isOpen ? messagesIn(Buffer.from(buffer.subarray(0, length))) : []) {
      // Only the server can have sent it.
      if (!queries.deliver(message)) finish('malformed');
    }
    return isOpen;
  }

  async function ask(exchange: QueryExchange, wait: TcpWait): Promise<TcpEnd> {
    if (!isOpen) return 'closed';
    idle.end();
    const answer = queries.wait(exchange, wait);
    const send = () => {
      if (!queries.isWaiting(exchange)) return;
      if (wait.pay()) socket.write(withLength(exchange.encoded));
      else queries.end(exchange, 'unpaid');
    };
    if (socket.connecting) queued.push(send);
    else send();
    const end = await answer;
    if (isOpen && queries.areDone()) idle.begin();
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
  return { ask, isOpen: () => isOpen, hasAnswered: queries.haveAnswer, close };
}

/** Closes an idle connection, which does not keep the process alive. */
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

/** The pending queries of one connection. */
function createQueries() {
  const waiting = new Map<QueryExchange, (how: TcpEnd) => void>();
  /** After their timeout: their answers can still arrive. */
  const late: QueryExchange[] = [];
  let haveAnswer = false;

  function wait(exchange: QueryExchange, { timeoutMs }: TcpWait): Promise<TcpEnd> {
    return new Promise((resolve) => {
      const giveUp = () => {
        late.push(exchange);
        end('silent');
      };
      const timer = setTimeout(giveUp, timeoutMs);
      const end = (how: TcpEnd) => {
        clearTimeout(timer);
        waiting.delete(exchange);
        resolve(how);
      };
      waiting.set(exchange, end);
    });
  }

  /** False: it answers none of them. */
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
    isWaiting: (exchange: QueryExchange) => waiting.has(exchange),
    end: (exchange: QueryExchange, how: TcpEnd) => waiting.get(exchange)?.(how),
    deliver,
    endAll: (how: TcpEnd) => {
      for (const end of [...waiting.values()]) end(how);
    },
    areDone: () => waiting.size === 0,
    haveAnswer: () => haveAnswer,
  };
}

/** Length and query in one write, as servers expect (RFC 7766, 8). */
function withLength(encoded: Buffer): Buffer {
  const length = Buffer.allocUnsafe(2);
  length.writeUInt16BE(encoded.length);
  return Buffer.concat([length, encoded]);
}

/** Joins chunks once per message, so that single octets do not cause quadratic work. */
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
