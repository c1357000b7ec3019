/** The proof of an apex is queried where it is published, within the check's remaining budget. */
import { afterEach, describe, expect, it } from 'vitest';
import { createReachability } from '../../src/dns/servers/reachability.ts';
import { defaultLimits } from '../../src/dns/wire/budget.ts';
import type { LabFault } from '../../src/lab/faults.ts';
import { asked, BRIEF_MS, closeAll, openDns, openTestLab } from './test-lab.ts';

const name = '_signpost.shop.test';
const nothing = { questions: 0, bytes: 0, ms: 0 };
const records = (...texts: readonly string[]) => ({ kind: 'records', records: texts });

afterEach(closeAll);

describe('the TXT records at a name', () => {
  it.each([
    ['one', [`${name}. TXT "a=1"`], records('a=1')],
    ['several, in any order', [`${name}. TXT "b"`, `${name}. TXT "a"`], records('a', 'b')],
    ['one in several strings', [`${name}. TXT "a=" "1"`], records('a=1')],
    ['none of this type', [`${name}. A 192.0.2.1`], { kind: 'nodata' }],
    ['none at this name', [], { kind: 'nxdomain' }],
    [
      'an alias, which is not followed',
      [`${name}. CNAME x.shop.test.`, 'x TXT "a"'],
      { kind: 'nodata' },
    ],
    ['a wildcard of the zone', ['* TXT "a"'], records('a')],
  ])('%s', async (_title, zone, expected) => {
    const { observer } = await openTestLab({ 'shop.test': zone });
    expect(await observer.lookupTexts(name, nothing)).toEqual([expect.objectContaining(expected)]);
  });

  it('are queried at the zone’s own servers, so that resolvers cache no negative answer', async () => {
    const { dns, observer } = await openTestLab({ 'shop.test': [] });
    await observer.lookupTexts(name, nothing);
    expect(asked(dns)).toContain(`${name} TXT`);
    expect(asked(dns)).not.toContain(`${name} TXT rd`);
  });

  it('are queried at the resolvers in the recursive view', async () => {
    const zones = { 'shop.test': [`${name}. TXT "a"`] };
    const { dns, observer } = await openTestLab(zones, { authoritative: false });
    expect(await observer.lookupTexts(name, nothing)).toMatchObject([records('a')]);
    expect(asked(dns)).toEqual([`${name} TXT rd`]);
  });

  it('are queried at the resolvers when no name server is reachable', async () => {
    const zones = { 'shop.test': [`${name}. TXT "a"`] };
    const reachability = { ...createReachability(), isBlocked: () => true };
    const { dns, observer } = await openTestLab(zones, { reachability });
    expect(await observer.lookupTexts(name, nothing)).toMatchObject([records('a')]);
    expect(asked(dns)).toEqual([`${name} TXT rd`]);
  });

  it.each<[LabFault, string]>([
    ['timeout', 'timeout'],
    ['servfail', 'servfail'],
    ['refused', 'refused'],
    ['garbage', 'servfail'],
  ])('are unknown, never absent, after the fault %s', async (fault, kind) => {
    const zones = { 'shop.test': [`${name}. TXT "a"`] };
    const { dns, observer } = await openTestLab(zones, { timeoutMs: BRIEF_MS });
    dns.fail(name, 'TXT', fault);
    expect(await observer.lookupTexts(name, nothing)).toEqual([{ kind }]);
  });

  it('are reported per server of the zone', async () => {
    const two = ['@ NS ns1', '@ NS ns2', 'ns1 A 127.0.0.1', 'ns2 A 127.0.0.2'];
    const dns = await openDns({ 'shop.test': [...two, `${name}. TXT "a"`] });
    await openDns({ 'shop.test': two }, dns.port, '127.0.0.2');
    const servers = [{ address: dns.address, port: dns.port }];
    const { observer } = await openTestLab({}, { servers, authorityPort: dns.port });
    const answers = await observer.lookupTexts(name, nothing);
    expect(answers).toMatchObject([records('a'), { kind: 'nxdomain' }]);
  });

  it('are limited by the remaining budget of the check', async () => {
    const { dns, observer } = await openTestLab({ 'shop.test': [`${name}. TXT "a"`] });
    const { questions } = defaultLimits;
    expect(await observer.lookupTexts(name, { ...nothing, questions })).toEqual([
      { kind: 'timeout' },
    ]);
    expect(asked(dns)).toEqual([]);
  });

  it('are not queried at a name that is too long for the DNS', async () => {
    const { observer } = await openTestLab({});
    const long = `${'a'.repeat(63)}.`.repeat(4);
    expect(await observer.lookupTexts(`_signpost.${long}test`, nothing)).toEqual([]);
  });
});
