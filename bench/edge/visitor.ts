/** A visitor who requests a page repeatedly, each time on a new connection, and trusts only the given roots. */
import { request } from 'node:http';
import { connect, createSecureContext } from 'node:tls';
import { sleep } from '../support/processes.ts';
import { visitorsTls } from './settings.ts';

const ASK_EVERY_MS = 20;
const GIVE_UP_MS = 120_000;

export type Visitor = {
  /** `performance.now()` of the first 200 with a valid certificate; rejects after two minutes. */
  untilGood(hostname: string): Promise<number>;
  /** Status of one answer; null if the handshake or the connection failed. */
  ask(hostname: string): Promise<number | null>;
};

export function createVisitor(port: number, roots: string): Visitor {
  const secureContext = createSecureContext({ ca: roots, ...visitorsTls });

  function ask(hostname: string): Promise<number | null> {
    return new Promise((resolve) => {
      const asked = request({
        headers: { host: hostname },
        createConnection: () =>
          connect({ host: '127.0.0.1', port, servername: hostname, secureContext }),
      });
      asked.once('response', (response) => {
        response.resume().once('end', () => resolve(response.statusCode ?? null));
        response.once('error', () => resolve(null));
      });
      asked.once('error', () => resolve(null));
      asked.end();
    });
  }

  return {
    ask,
    async untilGood(hostname) {
      const deadline = performance.now() + GIVE_UP_MS;
      while ((await ask(hostname)) !== 200) {
        if (performance.now() > deadline) throw new Error(`${hostname} never answered`);
        await sleep(ASK_EVERY_MS);
      }
      return performance.now();
    },
  };
}
