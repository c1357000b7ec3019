/**
 * A proxy to PostgreSQL that loses notifications unnoticed: a connection that sent LISTEN stays open, and nothing
 * that the server sends on it arrives anymore.
 */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { sleep } from '../support/processes.ts';

export type MutedLine = {
  readonly url: string;
  /** Resolves when this many connections listen and got a notification; rejects after 30 seconds. */
  untilNotified(count: number): Promise<void>;
  /** Mutes existing and later connections. */
  mute(): void;
  /** Closes those connections, so that their clients listen again. */
  heal(): void;
  close(): Promise<void>;
};

type Line = { readonly client: Socket; isListener: boolean; chunks: number };

/** The answer to LISTEN, and two of the notifications that each edge sends itself once a second. */
const CHUNKS_MIN = 3;
const GIVE_UP_MS = 30_000;

export async function openMutedLine(databaseUrl: string): Promise<MutedLine> {
  const to = new URL(databaseUrl);
  const lines = new Set<Line>();
  let isMuted = false;
  const server = createServer((client) => {
    const onward = connect(Number(to.port), to.hostname);
    const line: Line = { client, isListener: false, chunks: 0 };
    lines.add(line);
    client.on('data', (chunk) => {
      line.isListener ||= /\blisten\b/i.test(chunk.toString('latin1'));
      onward.write(chunk);
    });
    onward.on('data', (chunk) => {
      if (line.isListener && isMuted) return;
      if (line.isListener) line.chunks += 1;
      client.write(chunk);
    });
    const end = () => {
      lines.delete(line);
      client.destroy();
      onward.destroy();
    };
    for (const socket of [client, onward]) socket.setNoDelay().on('error', end).on('close', end);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = new URL(databaseUrl);
  url.port = String((server.address() as AddressInfo).port); // it listens on TCP
  const listeners = () => [...lines].filter(({ isListener }) => isListener);
  return {
    url: url.href,
    async untilNotified(count) {
      const deadline = Date.now() + GIVE_UP_MS;
      while (listeners().filter(({ chunks }) => chunks >= CHUNKS_MIN).length < count) {
        if (Date.now() > deadline) throw new Error('the edges do not listen to PostgreSQL');
        await sleep(20);
      }
    },
    mute() {
      isMuted = true;
    },
    heal() {
      isMuted = false;
      for (const { client } of listeners()) client.destroy();
    },
    async close() {
      server.close();
      for (const { client } of lines) client.destroy();
      await once(server, 'close');
    },
  };
}
