/** What one kind of server claims or withholds must not undo what another one shows. */
import fc from 'fast-check';
import { afterEach, expect, it } from 'vitest';
import { defaultLimits } from '../../../src/dns/wire/budget.ts';
import type { LabFault } from '../../../src/lab/faults.ts';
import { sizeOfRun } from '../../support/run.ts';
import { comparedWith } from '../test-lab.ts';
import {
  closeInternet,
  diagnosed,
  type Internet,
  observerOf,
  openInternet,
  TARGET,
} from './internet.ts';
import { RIGHT, twoServers } from './row.ts';

afterEach(closeInternet);

const RUNS = sizeOfRun({ quick: 15, long: 400 });
/** Silence is detected early; a short time limit would measure this machine instead. */
const QUICK = { timeoutMs: 100, limits: { ...defaultLimits, ms: 30_000 } };
/** Second check of an apparent failure, in case this machine was only slow. */
const PATIENT = { ...QUICK, timeoutMs: 1_000 };
const NAMES = [['docs.shop.test'], ['shop.test']] as const;
const BOTH_RIGHT = [RIGHT, '@ A 192.0.2.10', '@ A 192.0.2.11'];
const SERVERS = ['ns1.shop.test', 'ns2.shop.test'] as const;

const unhelpfulFaults = [
  'servfail',
  'refused',
  'notimp',
  'garbage',
  'flood',
  'upward_referral',
  'not_authoritative',
  'no_tcp',
  'truncate',
  'lower_case',
  'formerr_edns',
] as const satisfies readonly LabFault[];
const silentFaults = [
  'timeout',
  'wrong_id',
  'wrong_question',
  'wrong_source',
] as const satisfies readonly LabFault[];
/** Silent ones take time, so they are fewer. */
const unhelpful = fc.oneof(
  { weight: 9, arbitrary: fc.constantFrom(...unhelpfulFaults) },
  { weight: 1, arbitrary: fc.constantFrom(...silentFaults) },
);
const lies: readonly LabFault[] = [
  'nxdomain',
  'nodata',
  'endless_alias',
  {
    kind: 'remembered',
    lines: ['@ A 198.51.100.1', '@ CAA 0 issue "ca.example"'],
    ttlSeconds: 60,
  },
];

const types = fc.constantFrom('A', 'AAAA', 'CAA', 'NS', 'SOA', '*');

/** By an observer with an empty cache. */
async function checkOnce(internet: Internet, hostname: string, options = QUICK) {
  const { observe, close } = observerOf(internet.resolver, options);
  const observation = await observe(hostname);
  close();
  return diagnosed(observation);
}

it.each(NAMES)(
  'an answer of a resolver never makes %s wrong',
  { timeout: 300_000 },
  async (hostname) => {
    const internet = await openInternet({ ...twoServers(BOTH_RIGHT, BOTH_RIGHT), ...QUICK });
    // False addresses of name servers would lead outside the test network.
    const anywhere = fc.constantFrom('.', '.test', '.shop.test', '.edge.test', 'ns1.shop.test');
    const here = fc.constantFrom('docs.shop.test', 'shop.test', 'test', TARGET);
    const fault = fc.oneof(
      fc.tuple(anywhere, types, fc.oneof(unhelpful, fc.constantFrom(...lies.slice(0, 3)))),
      fc.tuple(here, types, fc.oneof(unhelpful, fc.constantFrom(...lies))),
    );
    const property = fc.asyncProperty(fc.array(fault, { maxLength: 4 }), async (faults) => {
      internet.resolver.heal();
      for (const [names, type, one] of faults) internet.fail('resolver', one, names, type);
      expect((await checkOnce(internet, hostname)).verdict).not.toBe('wrong');
    });
    await fc.assert(property, { numRuns: RUNS });
  },
);

it.each(NAMES)(
  'one right server outweighs a silent or failing one for %s',
  {
    timeout: 300_000,
  },
  async (hostname) => {
    const internet = await openInternet({ ...twoServers(BOTH_RIGHT, BOTH_RIGHT), ...QUICK });
    const faults = fc.array(fc.tuple(types, unhelpful), { maxLength: 3 });
    const property = fc.asyncProperty(faults, fc.constantFrom(...SERVERS), async (failing, bad) => {
      for (const server of SERVERS) internet.server(server).heal();
      for (const [type, fault] of failing) internet.fail(bad, fault, '.', type);
      if ((await checkOnce(internet, hostname)).verdict === 'right') return;
      expect((await checkOnce(internet, hostname, PATIENT)).verdict).toBe('right');
    });
    await fc.assert(property, { numRuns: RUNS });
  },
);

/** Possible lines of `shop.test`; its serial never changes, as at some providers. */
const LINES = [
  RIGHT,
  'docs CNAME other.test.',
  'docs CNAME mid',
  'mid CNAME p1.edge.test.',
  'docs A 198.51.100.1',
  'docs TXT "p1.edge.test"',
  '* CNAME p1.edge.test.',
  '* A 198.51.100.1',
  '@ A 192.0.2.10',
  '@ A 198.51.100.1',
  '@ CAA 0 issue "ca.example"',
] as const;

it.each(NAMES)(
  'a light check always detects that %s became better or worse',
  {
    timeout: 300_000,
  },
  async (hostname) => {
    const internet = await openInternet(twoServers([], []));
    const address = (server: string) => internet.server(server).address;
    const infrastructure = [
      ...SERVERS.map((server) => `@ NS ${server}.`),
      ...SERVERS.map((server) => `${server}. A ${address(server)}`),
    ];
    const all = [...LINES, 'docs AAAA 2001:db8::9', '@ AAAA 2001:db8::9', '@ CNAME other.test.'];
    const alike = fc.subarray(all, { maxLength: 4 });
    const own = fc.subarray(all, { maxLength: 4 });
    const put = async (held: readonly (readonly string[])[]) => {
      for (const [i, server] of SERVERS.entries()) {
        await internet.server(server).setZone('shop.test', [...infrastructure, ...(held[i] ?? [])]);
      }
      await internet.resolver.setZone('shop.test', [...infrastructure, ...(held[0] ?? [])]);
    };
    const pair = fc.oneof(
      fc.tuple(own, own),
      alike.map((lines) => [lines, lines] as const),
    );
    const property = fc.asyncProperty(pair, pair, async (before, after) => {
      const { observer, close } = observerOf(internet.resolver, {});
      const checkTarget = { hostname, target: TARGET, apex: hostname === 'shop.test' };
      await put(before);
      const previous = await observer.observe(checkTarget);
      expect(
        diagnosed((await observer.observeAgain(checkTarget, comparedWith(previous))).observation),
      ).toEqual(diagnosed(previous));
      await put(after);
      const light = async () =>
        diagnosed((await observer.observeAgain(checkTarget, comparedWith(previous))).observation);
      const cheap = await light();
      // AAAA, MX and TXT have turns, unless AAAA records were there.
      const more = [await light(), await light()];
      const fresh = diagnosed(await observer.observe(checkTarget));
      close();
      expect(cheap.verdict).toBe(fresh.verdict);
      // A light check asks one server for AAAA, so another server's AAAA may show up later.
      const isAlike = [before, after].every(([one, two]) => one.join() === two.join());
      if (!isAlike) return;
      const aaaa = `${hostname === 'shop.test' ? '@' : 'docs'} AAAA`;
      const hadAaaa = before[0].some((line) => line.startsWith(aaaa));
      const codes = hadAaaa ? [cheap.codes[0]] : [cheap, ...more].map((one) => one.codes[0]);
      expect(codes).toContain(fresh.codes[0]);
    });
    await fc.assert(property, { numRuns: RUNS });
  },
);
