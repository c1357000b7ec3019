/** Many orders start at once and each needs a new nonce; the pace keeps to the CA's rate limit. */
import { describe, expect, it } from 'vitest';
import { createAcmeSession } from '../../src/certificates/acme/session.ts';
import type { TransportRequest } from '../../src/certificates/acme/transport.ts';

const directory = {
  newNonce: 'https://ca.test/nonce',
  newAccount: 'https://ca.test/account',
  newOrder: 'https://ca.test/order',
};

/** Its CA answers every request with its directory and a new nonce. */
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
  it('requests a new nonce only after the pace admits it', async () => {
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

  it('requests the directory once for concurrent orders', async () => {
    const { session, asked } = sessionOf(async () => undefined);
    await Promise.all([session.reach(), session.reach(), session.reach()]);
    expect(asked).toEqual(['GET', 'HEAD', 'HEAD', 'HEAD']);
  });
});
