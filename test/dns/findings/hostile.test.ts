/** With hostile name servers, a check stays within its limits and accepts only the right record. */
import { afterEach, describe, expect, it } from 'vitest';
import { defaultLimits } from '../../../src/dns/wire/budget.ts';
import type { LabFault } from '../../../src/lab/faults.ts';
import { closeInternet, type Internet, openInternet } from './internet.ts';
import { RIGHT, shop, textOf, twoServers } from './row.ts';

afterEach(closeInternet);

const HOSTNAME = 'docs.shop.test';
const SERVERS = ['ns1.shop.test', 'ns2.shop.test'] as const;
/** Silence is detected early. */
const QUICK = { timeoutMs: 100, limits: { ...defaultLimits, ms: 3_000 } };

const hostile: readonly LabFault[] = [
  'servfail',
  'refused',
  'nxdomain',
  'nodata',
  'timeout',
  'not_authoritative',
  'upward_referral',
  'notimp',
  'no_tcp',
  'garbage',
  'flood',
  'wrong_id',
  'wrong_question',
  'endless_alias',
  'hold',
  { kind: 'servfail', errors: [{ code: 0, text: 'x'.repeat(500) }] },
];

const named = (faults: readonly LabFault[]) =>
  faults.map((fault) => [typeof fault === 'string' ? fault : fault.kind, fault] as const);

/** Bytes in flight when the limit is reached are counted, but not read. */
const BYTES_UNDER_WAY = 16 * 1024;

/** Compares the limits with the check's own count and with the queries that servers received. */
function expectWithinLimits(
  internet: Internet,
  { cost }: { readonly cost: { readonly questions: number; readonly bytes: number } },
): void {
  expect(cost.questions).toBeLessThanOrEqual(defaultLimits.questions);
  expect(cost.bytes).toBeLessThanOrEqual(defaultLimits.bytes + BYTES_UNDER_WAY);
  expect(internet.questions().length).toBeLessThanOrEqual(cost.questions);
}

async function openWith(fault: LabFault, servers: readonly string[]) {
  const internet = await openInternet({ ...twoServers([RIGHT], [RIGHT]), ...QUICK });
  for (const server of servers) internet.fail(server, fault);
  return internet;
}

describe.each([
  ['all name servers of a zone', SERVERS],
  ['all servers, including resolvers,', [...SERVERS, 'registry', 'resolver']],
])('when %s', (_who, servers) => {
  it.each(named(hostile))('have the fault %s, a check is not right', async (_name, fault) => {
    const internet = await openWith(fault, servers);
    const { observation, verdict, findings } = await internet.check(HOSTNAME);
    expect(verdict).not.toBe('right');
    expect(findings).not.toEqual([]);
    expectWithinLimits(internet, observation);
  });
});

it.each(named(hostile))(
  'when the servers of the zone and the registry have the fault %s, only an honest resolver is trusted',
  async (_name, fault) => {
    const internet = await openWith(fault, [...SERVERS, 'registry']);
    const { observation, verdict } = await internet.check(HOSTNAME);
    if (verdict === 'right') {
      expect(observation).toMatchObject({ view: 'recursive', whyRecursive: 'port_53_blocked' });
    }
    expectWithinLimits(internet, observation);
  },
);

it.each(named(['formerr_edns', 'lower_case', 'truncate', { kind: 'delay', ms: 5 }]))(
  'a zone whose servers have the fault %s is still right',
  async (_name, fault) => {
    const internet = await openInternet(twoServers([RIGHT], [RIGHT]));
    for (const server of SERVERS) internet.fail(server, fault);
    const { observation, verdict } = await internet.check(HOSTNAME);
    expect(verdict).toBe('right');
    expectWithinLimits(internet, observation);
  },
);

it('a truncated answer is completed over TCP and right', async () => {
  const internet = await openInternet(twoServers([RIGHT], [RIGHT]));
  for (const server of SERVERS) internet.fail(server, 'truncate', HOSTNAME);
  const { observation, verdict } = await internet.check(HOSTNAME);
  expect(verdict).toBe('right');
  expectWithinLimits(internet, observation);
});

describe('a check', () => {
  it('queries four servers of a zone that lists twenty', async () => {
    const names = Array.from({ length: 20 }, (_, i) => `ns${i + 1}`);
    const servers = Object.fromEntries(names.map((name) => [name, ['docs A 198.51.100.1']]));
    const internet = await openInternet({ zones: { 'shop.test': servers } });
    const { observation } = await internet.check(HOSTNAME);
    const asked = names.filter((name) => internet.server(`${name}.shop.test`).questions.length > 0);
    expect(asked.length).toBeGreaterThan(0);
    expect(asked.length).toBeLessThanOrEqual(4);
    expectWithinLimits(internet, observation);
  });

  it('follows eight names of an endless alias chain', async () => {
    const internet = await openInternet(
      shop(['docs CNAME a.maze.test.'], { zones: { 'maze.test': { ns1: [] } } }),
    );
    internet.fail('ns1.maze.test', 'endless_alias', '.maze.test');
    internet.fail('resolver', 'endless_alias', '.maze.test');
    const { observation, verdict } = await internet.check(HOSTNAME);
    expect(verdict).toBe('wrong');
    const { chain } = observation.nearby;
    expect(chain?.end).not.toBe('target');
    expect(chain?.names.length).toBeLessThanOrEqual(8);
    const names = internet.questions().flatMap(({ name }) => (/^n\d/.test(name) ? name : []));
    expect(new Set(names).size).toBeLessThanOrEqual(8);
    expectWithinLimits(internet, observation);
  });

  it('tries TCP once with a server that truncates everything and disconnects over TCP', async () => {
    const internet = await openWith('no_tcp', SERVERS);
    const { observation } = await internet.check(HOSTNAME);
    for (const server of SERVERS) {
      const overTcp = internet
        .server(server)
        .questions.filter(({ transport }) => transport === 'tcp');
      expect(overTcp).toHaveLength(1);
    }
    expectWithinLimits(internet, observation);
  });

  it('believes the answers over TCP of a server whose datagrams come from elsewhere', async () => {
    const internet = await openWith('wrong_source', SERVERS);
    const { observation, verdict } = await internet.check(HOSTNAME);
    expect(verdict).toBe('right');
    expectWithinLimits(internet, observation);
  });

  it('drops a flood of responses and still gets the response of the other server', async () => {
    const internet = await openInternet(twoServers([RIGHT], [RIGHT]));
    internet.fail('ns1.shop.test', 'flood');
    const { observation } = await internet.check(HOSTNAME);
    const beside = observation.servers.find(({ server }) => server === 'ns2.shop.test');
    expect(beside?.state).toBe('answers');
    expectWithinLimits(internet, observation);
  });
});

describe('a label with a dot differs from two labels', () => {
  const line = 'docs CNAME p1\\.edge.test.';

  it.each([true, false])('in answers of the zone’s own servers: %s', async (authoritative) => {
    const internet = await openInternet({ ...shop([line]), authoritative });
    const { verdict, findings } = await internet.check(HOSTNAME);
    expect(verdict).toBe('wrong');
    expect(findings[0]).toMatchObject({ code: 'cname_mismatch', found: 'p1\\.edge.test' });
  });

  it('in cached answers of resolvers', async () => {
    const internet = await openInternet(shop([RIGHT], { known: { 'shop.test': [line] } }));
    const { findings } = await internet.check(HOSTNAME);
    expect(findings).toMatchObject([
      {
        code: 'old_answer_cached',
        resolvers: [{ shows: expect.stringContaining('p1\\.edge.test') }],
      },
    ]);
  });

  it('at the end of an alias', async () => {
    const internet = await openInternet(shop(['docs CNAME mid', 'mid CNAME p1\\.edge.test.']));
    const { observation } = await internet.check(HOSTNAME);
    expect(observation.nearby.chain?.end).not.toBe('target');
  });
});

describe('untrusted text', () => {
  const red = '\u001b[31m';
  const bidi = '\u202egpj.exe';
  const html = '<script>alert(1)</script>';
  /** Control, invisible and bidi characters; line ends are only allowed between texts. */
  const dangerous = /(?!\n)[\p{Cc}\p{Cf}]/u;

  it.each([
    ['CNAME', 'docs CNAME evil\\027[31m.<script>.\u202egpj.test.'],
    ['TXT', `docs TXT "p1.edge.test ${red}${bidi}${html}"`],
    ['MX', 'docs MX 10 evil\\027[31m.<b>.\u202egpj.test.'],
    ['CAA', `@ CAA 0 issue "${red}${bidi}${html}"`],
  ])('of a %s record is escaped', async (_type, line) => {
    const internet = await openInternet(shop([line]));
    const { verdict, findings } = await internet.check(HOSTNAME);
    expect(verdict).toBe('wrong');
    const text = findings.map(textOf).join('\n');
    expect(text).not.toMatch(dangerous);
    expect(JSON.stringify(findings)).not.toContain('\\u001b');
  });

  it('of a name server is escaped', async () => {
    const internet = await openInternet(shop([RIGHT]));
    internet.registry.edit('test', { add: ['shop NS evil\\027[31m.<b>.test.'] });
    const { codes, findings } = await internet.check(HOSTNAME);
    expect(codes).toContain('delegation_mismatch');
    expect(findings.map(textOf).join('\n')).not.toMatch(/[<>[]/);
  });

  it('of a resolver is escaped', async () => {
    const internet = await openInternet(shop([RIGHT]));
    const errors = [{ code: 9, text: `${red}${bidi}${html}` }];
    internet.fail('resolver', { kind: 'bogus', errors }, '.shop.test');
    const { codes, findings } = await internet.check(HOSTNAME);
    expect(codes).toEqual(['dnssec_bogus']);
    expect(findings.map(textOf).join('\n')).not.toMatch(dangerous);
  });
});
