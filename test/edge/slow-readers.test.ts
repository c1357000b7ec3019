import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { type EdgeLimits, edgeLimits } from '../../src/edge/limits.ts';
import { progressOf } from '../../src/edge/proxy/slow-readers.ts';
import { closeAfterEach } from '../support/closings.ts';
import { type EdgeFixture, startDeploy, startEdgeFixture } from './support/fixture.ts';

const hostname = 'docs.acme.test';
const MiB = 1_048_576;
const closings = closeAfterEach();
let edge: EdgeFixture;

/** A deploy that answers with `bytes` bytes, and a visitor who has read the start. */
async function startAnswer(bytes: number, limits: Partial<EdgeLimits>) {
  edge = await startEdgeFixture(limits);
  closings.push(edge.close);
  const piece = Buffer.alloc(65_536);
  function* pieces(count: number) {
    for (let sent = 0; sent < count; sent += 1) yield piece;
  }
  const deploy = await startDeploy((_request, response) => {
    response.setHeader('content-length', bytes);
    response.on('error', () => {});
    Readable.from(pieces(bytes / piece.length)).pipe(response);
  });
  closings.push(deploy.close);
  await edge.publish(hostname, deploy.url);
  const request = edge.openHttps({ hostname });
  request.on('error', () => {}).end();
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  return response;
}

/** Pauses after each piece, so that the edge always has more. Returns the total. */
async function readSlowly(response: IncomingMessage): Promise<number> {
  let taken = 0;
  const read = async () => {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      taken += chunk.length;
      for (let turns = 0; turns < 20; turns += 1) await turn();
    }
  };
  await read().catch(() => {}); // cut off
  return taken;
}

describe('A visitor who reads slowly', () => {
  const size = 96 * MiB;

  it('is cut off below the minimum rate', async () => {
    // More than any machine reads before the edge checks: only the cut ends it.
    const endless = 1_024 * 1_024 * MiB;
    const response = await startAnswer(endless, { readMs: 1_000, readBytesMin: 1_024 * MiB });
    expect(await readSlowly(response)).toBeLessThan(endless);
  });

  it('gets the whole response at the minimum rate', async () => {
    const response = await startAnswer(size, { readMs: 1_000, readBytesMin: 1 });
    expect(await readSlowly(response)).toBe(size);
  });

  it('can read a kilobyte a second for over two minutes in production', () => {
    expect(edgeLimits.readBytesMin / (edgeLimits.readMs / 1_000)).toBe(1_024);
  });
});

describe('Twelve checks of a connection after the first one', () => {
  /** Bytes read at each check; null: nothing waits. */
  type Samples = readonly (number | null)[];
  const steady = (step: number): Samples => Array.from({ length: 13 }, (_, place) => place * step);
  const rows: readonly (readonly [string, Samples, boolean])[] = [
    ['cut off when nothing is read', steady(0), true],
    ['cut off at a byte now and then', steady(1), true],
    ['cut off just below the limit', [...steady(0).slice(1), 99], true],
    ['keep a visitor at the limit, all at once', [...steady(0).slice(1), 100], false],
    ['keep a visitor at the limit, bit by bit', steady(10), false],
    [
      'keep a visitor when nothing waited in between',
      [...steady(0).slice(0, 6), null, ...steady(0).slice(0, 6)],
      false,
    ],
    ['keep a visitor early on', steady(0).slice(1), false],
    ['cut off when the rate falls below the limit', [...steady(10), ...Array(12).fill(120)], true],
  ];

  it.each(rows)('%s', (_what, rounds, isTooSlow) => {
    let found: ReturnType<typeof progressOf> = null;
    for (const taken of rounds) found = progressOf(found === 'too_slow' ? null : found, taken, 100);
    expect(found === 'too_slow').toBe(isTooSlow);
  });
});
