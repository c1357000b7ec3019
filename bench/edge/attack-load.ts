/** Attacks the edge from a separate address until it is killed. Prints `attacking` when it has started. */
import { readFileSync } from 'node:fs';
import { connect as connectTcp } from 'node:net';
import { connect, createSecureContext, type TLSSocket } from 'node:tls';
import { setting, sleep } from '../support/processes.ts';
import { visitorsTls } from './settings.ts';

export const attacks = [
  'none',
  'handshakes',
  'pipelined requests',
  'requests with too many fields',
  'heads that never end',
  'bodies that never end',
  'leaving before the answer',
] as const;
export type Attack = (typeof attacks)[number];

export type AttackAsked = {
  readonly attack: Attack;
  readonly port: number;
  readonly rootFile: string;
  readonly hostname: string;
};

const LANES = 50;
/** Visitors on the same machine come from 127.0.0.1. */
const ADDRESS = '127.0.0.66';

if (process.env['ASKED'] !== undefined) await attackForEver(JSON.parse(setting('ASKED')));

async function attackForEver({ attack, port, rootFile, hostname }: AttackAsked): Promise<void> {
  const secureContext = createSecureContext({ ca: readFileSync(rootFile), ...visitorsTls });
  const open = () =>
    connect({
      socket: connectTcp({ host: '127.0.0.1', port, localAddress: ADDRESS }),
      servername: hostname,
      secureContext,
      ALPNProtocols: ['http/1.1'],
    });
  process.stdout.write('attacking\n');
  const act = ways(hostname)[attack];
  await Promise.all(
    Array.from({ length: LANES }, async () => {
      for (;;) await oneConnection(open(), act);
    }),
  );
}

/** Resolves when either side closes it. */
function oneConnection(socket: TLSSocket, act: Act): Promise<void> {
  return new Promise((resolve) => {
    socket.once('secureConnect', () => void act(socket));
    socket.on('error', () => {}).resume();
    socket.once('close', () => resolve());
  });
}

type Act = (socket: TLSSocket) => unknown;

function ways(hostname: string): Readonly<Record<Attack, Act>> {
  const line = `GET / HTTP/1.1\r\nHost: ${hostname}\r\n`;
  const fields = Array.from({ length: 150 }, (_, at) => `x-${at}: y\r\n`).join('');
  const drip = (begin: string) => async (socket: TLSSocket) => {
    socket.write(begin);
    for (let at = 0; !socket.destroyed; at += 1) {
      await sleep(500);
      socket.write(`x-${at}: y\r\n`);
    }
  };
  return {
    none: (socket) => socket.pause(),
    handshakes: (socket) => socket.destroy(),
    'pipelined requests': (socket) => socket.write(`${line}\r\n`.repeat(1_500)),
    'requests with too many fields': (socket) => socket.write(`${line}${fields}\r\n`),
    'heads that never end': drip(line),
    'bodies that never end': drip(
      `POST / HTTP/1.1\r\nHost: ${hostname}\r\nContent-Length: 1000000\r\n\r\n`,
    ),
    'leaving before the answer': (socket) => {
      socket.write(`${line}\r\n`);
      setImmediate(() => socket.destroy());
    },
  };
}
