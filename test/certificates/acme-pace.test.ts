/** No more new nonces are asked for than a certificate authority gives: each order asks for one, and many begin at once. */
import { describe, expect, it } from 'vitest';
import { createPace } from '../../src/certificates/acme/pacer.ts';
import { createAcmeSession } from '../../src/certificates/acme/session.ts';
import type { TransportRequest } from '../../src/certificates/acme/transport.ts';

const rules = { gapMs: 100, atOnce: 3 };

/** How long each of those who come at these times has to wait. */
async function waits(times: readonly number[]): Promise<number[]> {
  const waited = times.map(() => 0);
  let [nth, now] = [0, 0];
  const pause = async (ms: number) => {
    waited[nth] = ms;
  };
  const pace = createPace(rules, () => now, pause);
  for ([nth, now] of times.entries()) await pace();
  return waited;
}

describe('a pace of three at once and then one in 100 ms', () => {
  it.each([
    [
      'has three begin at once, and the others after each other',
      [0, 0, 0, 0, 0],
      [0, 0, 0, 100, 200],
    ],
    ['holds up nobody who comes no sooner', [0, 100, 200, 300, 400], [0, 0, 0, 0, 0]],
    [
      'gives back what was not used, and not more',
      [0, 0, 0, 9_000, 9_000, 9_000, 9_000],
      [0, 0, 0, 0, 0, 0, 100],
    ],
    ['counts those who wait', [0, 0, 0, 0, 50], [0, 0, 0, 100, 150]],
  ])('%s', async (_title, times, expected) => {
    expect(await waits(times)).toEqual(expected);
  });
});

const directory = {
  newNonce: 'https://ca.test/nonce',
  newAccount: 'https://ca.test/account',
  newOrder: 'https://ca.test/order',
};

/** With an authority that answers everything with its directory, and a new nonce each time. */
function sessionOf(pace: () => Promise<void>) {
  const asked: string[] = [];
  const transport = async ({ method }: TransportRequest) => {
    asked.push(method);
    const headers = { 'replay-nonce': `nonce-${asked.length}` };
    return { status: 200, headers, body: JSON.stringify(directory) };
  };
  const now = () => new Date();
  const session = createAcmeSession({ directoryUrl: 'https://ca.test/dir', transport, now, pace });
  return { session, asked };
}

describe('a session', () => {
  it('asks for a new nonce when it is its turn', async () => {
    let begin = () => {};
    const turn = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const { session, asked } = sessionOf(() => turn);
    await session.directory();
    const reached = session.reach();
    await new Promise((resolve) => setImmediate(resolve));
    expect(asked).toEqual(['GET']);
    begin();
    await reached;
    expect(asked).toEqual(['GET', 'HEAD']);
  });

  it('asks for the directory once, however many orders begin at once', async () => {
    const { session, asked } = sessionOf(async () => undefined);
    await Promise.all([session.reach(), session.reach(), session.reach()]);
    expect(asked).toEqual(['GET', 'HEAD', 'HEAD', 'HEAD']);
  });
});
