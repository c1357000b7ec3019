/** A validating Unbound and zones that are right at their own servers: signatures and cache. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Check, type Checked, checkIn, TARGET } from './check.ts';
import type { Signing } from './signing.ts';
import { lacksNameServers, type RealWorld, startRealWorld } from './world.ts';
import { NEGATIVE_TTL_SECONDS, type RealZone } from './zones.ts';

const right = ['docs CNAME p1.edge.test.'];
const late: RealZone = { name: 'late.test', records: ['old CNAME elsewhere.edge.test.'] };

/** The signings and the extended errors (RFC 8914, 4) that Unbound 1.17.1 returns. */
const bogus: readonly { signing: Signing; code: number; text: RegExp }[] = [
  { signing: 'expired', code: 7, text: /signature expired/ },
  { signing: 'early', code: 8, text: /signature before inception date/ },
  { signing: 'ds_mismatch', code: 9, text: /no keys have a DS/ },
  { signing: 'stripped', code: 9, text: /No DNSKEY record/ },
];

const zoneOf = (signing: string) => `${signing.replace('_', '-')}.test`;

describe.skipIf(lacksNameServers('Unbound with signed zones'))('a validating resolver', () => {
  let world: RealWorld;
  let check: Check;
  beforeAll(async () => {
    world = await startRealWorld([
      late,
      { name: 'plain.test', records: right },
      { name: 'well.test', records: right, signing: 'well' },
      ...bogus.map(({ signing }) => ({ name: zoneOf(signing), records: right, signing })),
    ]);
    check = checkIn(world);
  });
  afterAll(() => world?.close());

  it.each([
    { zone: 'well.test', authenticated: true },
    { zone: 'plain.test', authenticated: false },
  ])('accepts $zone: authenticated $authenticated', async ({ zone, authenticated }) => {
    const { verdict, findings, observation } = await check(`docs.${zone}`);
    expect(verdict).toBe('right');
    expect(findings).toEqual([]);
    expect(observation.world).toMatchObject([
      { cname: { records: [TARGET] }, authenticated, answersUnchecked: null, errors: [] },
    ]);
  });

  it.each(bogus)('fails for a zone signed $signing: EDE $code', async ({ signing, code, text }) => {
    const zone = zoneOf(signing);
    const { verdict, findings, observation } = await check(`docs.${zone}`);
    expect(verdict).toBe('wrong');
    expect(observation.servers.map(({ cname }) => cname)).toMatchObject([
      { records: [TARGET] },
      { records: [TARGET] },
    ]);
    const errors = [{ code, text: expect.stringMatching(text) }];
    expect(findings).toMatchObject([{ code: 'dnssec_bogus', zone, errors }]);
    expect(observation.world).toMatchObject([{ authenticated: false, answersUnchecked: true }]);
  });

  it('caches the state from before the record, with its TTL', async () => {
    const missing = await check('docs.late.test');
    expect(missing.findings).toMatchObject([{ code: 'record_missing' }]);
    const before = Date.now();
    const [denied, old] = await Promise.all([
      world.ask('unbound', 'docs.late.test', 'A'),
      world.ask('unbound', 'old.late.test', 'A'),
    ]);
    expect([denied.message.rcode, old.message.answers[0]]).toMatchObject([
      3,
      { target: 'elsewhere.edge.test', ttlSeconds: 60 },
    ]);
    await world.publish({ ...late, records: [...right, 'old CNAME p1.edge.test.'], serial: 2 });

    const fresh = await check('docs.late.test', missing.observation);
    expect(fresh.verdict).toBe('right');
    expect(fresh.findings).toMatchObject([
      {
        code: 'old_answer_cached',
        remembered: 'negative',
        resolvers: [{ server: world.resolver.address, shows: 'no such name' }],
      },
    ]);
    const changed = await check('old.late.test');
    expect(changed.verdict).toBe('right');
    expect(changed.findings).toMatchObject([
      {
        code: 'old_answer_cached',
        remembered: 'positive',
        resolvers: [{ shows: 'CNAME elsewhere.edge.test' }],
      },
    ]);
    const until = Date.parse(untilOf(fresh) ?? '');
    expect(until).toBeGreaterThan(before);
    expect(until).toBeLessThanOrEqual(Date.now() + (NEGATIVE_TTL_SECONDS + 60) * 1_000);
  });
});

function untilOf({ findings }: Checked): string | null {
  const [first] = findings;
  return first?.code === 'old_answer_cached' ? first.until : null;
}
