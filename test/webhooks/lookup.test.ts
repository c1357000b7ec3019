/** Look-ups of receivers against a name server that says one thing only. */
import { createSocket } from 'node:dgram';
import { describe, expect, it } from 'vitest';
import { createLookup } from '../../src/net/destination.ts';
import { closeAfterEach } from '../support/closings.ts';

const closings = closeAfterEach();

/** Answers every question with this code and no records (RFC 1035, 4.1.1). */
async function lookupAt(rcode: number) {
  const server = createSocket('udp4');
  closings.push(() => server.close());
  server.on('message', (question, from) => {
    const answer = Buffer.from(question);
    answer[2] = 0x81;
    answer[3] = 0x80 | rcode;
    server.send(answer, from.port, from.address);
  });
  await new Promise<void>((resolve) => server.bind(0, '127.0.0.1', resolve));
  return createLookup([{ address: '127.0.0.1', port: server.address().port }]);
}

describe('a look-up', () => {
  it.each([
    ['NODATA', 0],
    ['NXDOMAIN', 3],
  ])('that brings %s says that there is no address', async (_, rcode) => {
    expect(await (await lookupAt(rcode))('hooks.shop.test')).toEqual([]);
  });

  it.each([
    ['SERVFAIL', 2],
    ['REFUSED', 5],
  ])('that brings %s says nothing', async (_, rcode) => {
    await expect((await lookupAt(rcode))('hooks.shop.test')).rejects.toThrow();
  });
});
