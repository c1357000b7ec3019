/** A client that sends exact bytes, and a server to receive them. */
import { connect } from 'node:net';
import type { Api } from '../../src/http/pipeline/api.ts';
import {
  type HttpListenOptions,
  type HttpServer,
  listenHttp,
} from '../../src/http/socket/server.ts';

export type WireAnswer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

export function listenForTest(
  api: Api,
  timeouts: NonNullable<HttpListenOptions['timeouts']> = {},
): Promise<HttpServer> {
  return listenHttp(api, { host: '127.0.0.1', port: 0, timeouts: { lingerMs: 200, ...timeouts } });
}

export type Talk = {
  /** Every response before the connection closed. */
  readonly answers: readonly WireAnswer[];
  /** Octets written before the server closed or everything was sent. */
  readonly written: number;
};

/**
 * Sends the pieces one by one and reads until the server closes. `halfClose` ends the sending side
 * after the last piece.
 */
export function talk(
  port: number,
  pieces: Iterable<string | Uint8Array>,
  { halfClose = false } = {},
): Promise<Talk> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const queue = pieces[Symbol.iterator]();
    const chunks: Buffer[] = [];
    let written = 0;
    const next = () => {
      const piece = queue.next();
      if (piece.done && halfClose) socket.end();
      if (piece.done || socket.destroyed) return;
      written += piece.value.length;
      socket.write(piece.value, () => setImmediate(next));
    };
    socket.on('connect', next);
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('end', () => socket.end());
    socket.on('error', () => {}); // the response tells them apart
    socket.on('close', () =>
      resolve({ answers: parseAnswers(Buffer.concat(chunks).toString('latin1')), written }),
    );
  });
}

/** Splits a server's output into responses; throws if anything stands between them. */
export function parseAnswers(text: string): readonly WireAnswer[] {
  if (text === '') return [];
  const [, status, head = ''] =
    /^HTTP\/1\.1 (\d{3}) [^\r\n]*\r\n((?:[^\r\n]+\r\n)*)\r\n/.exec(text) ?? [];
  if (status === undefined)
    throw new Error(`not an HTTP answer: ${JSON.stringify(text.slice(0, 80))}`);
  const headers = Object.fromEntries(
    head.split('\r\n').flatMap((line) => {
      const colon = line.indexOf(':');
      return colon < 0 ? [] : [[line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]];
    }),
  );
  const start = text.indexOf('\r\n\r\n') + 4;
  const end = start + Number(headers['content-length'] ?? 0);
  const answer = { status: Number(status), headers, body: text.slice(start, end) };
  return [answer, ...parseAnswers(text.slice(end))];
}
