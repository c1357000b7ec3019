/** The shared pointing vectors over real DNS; test/core/diagnosis/ checks them in memory. */
import { afterEach, expect, it } from 'vitest';
import { severities } from '../../../src/core/diagnosis/findings.ts';
import { parseHostname } from '../../../src/core/names/hostname.ts';
import vectors from '../../vectors/pointing.json' with { type: 'json' };
import { closeInternet, openInternet } from './internet.ts';

afterEach(closeInternet);

type Held = Readonly<Record<string, readonly string[] | undefined>>;

/** Each zone has a second server if there is a second state. */
function worldOf(first: Held, second: Held | undefined) {
  return Object.fromEntries(
    Object.entries(first).map(([zone, ns1 = []]) => {
      const ns2 = second?.[zone];
      return [zone, ns2 === undefined ? { ns1 } : { ns1, ns2 }];
    }),
  );
}

it.each(vectors.vectors)('$id: $hostname is $verdict', async (vector) => {
  const parsed = parseHostname(vector.hostname, 'edge.example');
  if (!parsed.ok) throw new Error(`the vector's hostname is rejected: ${parsed.reason}`);
  const zones = worldOf({ ...vectors.zones, ...vector.zones }, vector.secondNameServer);
  const internet = await openInternet({ zones });
  const { verdict, codes } = await internet.check(parsed.hostname.ascii, {
    target: vectors.target,
  });
  expect(verdict).toBe(vector.verdict === 'ok' ? 'right' : 'wrong');
  const blocking = codes.filter((code) => severities[code] === 'blocks');
  expect(blocking.length > 0).toBe(vector.verdict === 'blocked');
  if (vector.code !== undefined) expect(codes).toContain(vector.code);
});
