/** Holds a conversation over its own socket, octet by octet, and records the timing. */
import { connect, type Socket } from 'node:net';
import { readAnswers } from './answers.ts';
import { type Conversation, type Delivery, type Message, octetsOf } from './conversation.ts';
import type { Span } from './stalls.ts';

export type Talk = {
  readonly received: string;
  /** Number of messages sent completely, including the farewell. */
  readonly sent: number;
  /** `fault`: the connection was lost or refused. `patience`: the server timed out. */
  readonly endedBy: 'server' | 'client' | 'fault' | 'patience';
  /** The operating system's name of the socket error. */
  readonly fault: string | null;
  /** From the first octet to the last. */
  readonly span: Span;
};

const PATIENCE_MS = 60_000; // on a busy machine; longer silence means that the server forgot the connection
const QUIET_MS = 250; // of silence, after which a wild message counts as endless
const MAX_PIECES = 500; // maximum cuts, or sending would take seconds

/** Times are in ms of the machine's clock. Never rejects. */
export function hold(port: number, conversation: Conversation): Promise<Talk> {
  const { delivery, messages } = conversation;
  const from = Date.now();
  let sent = 0;
  const chunks: Buffer[] = [];
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  const patience = setTimeout(() => socket.destroy(new Error('patience')), PATIENCE_MS);
  socket.on('data', (chunk) => {
    chunks.push(chunk);
    patience.refresh();
  });
  socket.on('close', () => clearTimeout(patience));
  socket.on('connect', async () => {
    await send(socket, octetsOf(conversation), delivery, patience, () => {
      sent += 1;
    });
    if (delivery.kind === 'half_closed') socket.end();
    else if (delivery.kind === 'aborted') abort(socket, delivery.isReset);
    else if (!socket.destroyed && mayBeEndless(messages.at(-1))) {
      endWhenQuiet(socket, () => isOwed(messages, textOf(chunks)));
    }
  });
  return listen(socket).then((ended) => ({
    ...ended,
    received: textOf(chunks),
    sent,
    span: { from, to: Date.now() },
  }));
}

function textOf(chunks: readonly Buffer[]): string {
  return Buffer.concat(chunks).toString('latin1');
}

function listen(socket: Socket): Promise<Pick<Talk, 'endedBy' | 'fault'>> {
  let endedBy: Talk['endedBy'] = 'client';
  let fault: string | null = null;
  socket.on('end', () => {
    if (!socket.writableEnded) endedBy = 'server';
  });
  socket.on('error', (error: NodeJS.ErrnoException) => {
    fault = error.code ?? null;
    if (error.message === 'patience') endedBy = 'patience';
    else if (!socket.writableEnded) endedBy = 'fault';
  });
  return new Promise((resolve) => {
    socket.on('close', () => resolve({ endedBy, fault }));
  });
}

/** Stops at the first sign that the server no longer reads. */
async function send(
  socket: Socket,
  texts: readonly string[],
  delivery: Delivery,
  patience: NodeJS.Timeout,
  isSent: () => void,
): Promise<void> {
  let [written, sent] = [0, 0];
  let textsEnd = texts[0]?.length ?? 0;
  for (const piece of piecesOf(texts.join(''), delivery)) {
    if (socket.destroyed || socket.writableEnded) return;
    patience.refresh();
    written += piece.length;
    while (sent < texts.length && textsEnd <= written) {
      sent += 1;
      isSent();
      textsEnd += texts[sent]?.length ?? 0;
    }
    await new Promise((resolve) => socket.write(piece, 'latin1', resolve));
    await turns('turns' in delivery ? delivery.turns : 1);
  }
}

function piecesOf(whole: string, delivery: Delivery): readonly string[] {
  switch (delivery.kind) {
    case 'whole':
    case 'half_closed':
      return [whole];
    case 'torn': {
      const places = delivery.cuts.map((cut) => cut % whole.length).sort((a, b) => a - b);
      return [0, ...places].map((place, index) => whole.slice(place, places[index]));
    }
    case 'dribbled': {
      const step = Math.max(delivery.step, Math.ceil(whole.length / MAX_PIECES));
      return whole.match(new RegExp(`[^]{1,${step}}`, 'g')) ?? [];
    }
    case 'aborted':
      return [whole.slice(0, delivery.at % whole.length)];
  }
}

/** Waits for event loop turns, so that writes are sent and input is read before the next write. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) {
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function abort(socket: Socket, isReset: boolean): void {
  if (isReset) socket.resetAndDestroy();
  else socket.destroy();
}

function mayBeEndless(last: Message | undefined): boolean {
  return last?.outcome === 'wild' || last?.outcome === 'spills';
}

/** Whether a response is missing to a message before the last: the server is only slow. */
function isOwed(messages: readonly Message[], received: string): boolean {
  const { answers, problem } = readAnswers(received, (index) => messages[index]?.isHead ?? false);
  const finals = answers.filter(({ status }) => status >= 200);
  return problem === null && finals.length < messages.length - 1;
}

function endWhenQuiet(socket: Socket, isOwed: () => boolean): void {
  const timer = setTimeout(() => {
    if (isOwed()) timer.refresh();
    else socket.end();
  }, QUIET_MS);
  socket.on('data', () => timer.refresh());
  socket.on('close', () => clearTimeout(timer));
}
