/** Look-ups against a name server with one fixed response. */
import { createSocket } from 'node:dgram';
import { describe, expect, it } from 'vitest';
import { createLookup } from '../../src/net/destination.ts';
import { closeAfterEach } from '../support/closings.ts';

const closings = closeAfterEach();

/** Answers every query with this code and no records (RFC 1035, 4.1.1). */
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

describe('A receiver look-up', () => {
  it.each([
    ['NODATA', 0],
    ['NXDOMAIN', 3],
  ])('with the response %s means that there is no address', async (_, rcode) => {
    expect(await (await lookupAt(rcode))('hooks.shop.test')).toEqual([]);
  });

  it.each([
    ['SERVFAIL', 2],
    ['REFUSED', 5],
  ])('with the response %s is inconclusive', async (_, rcode) => {
    await expect((await lookupAt(rcode))('hooks.shop.test')).rejects.toThrow();
  });
});
